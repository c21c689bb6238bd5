# SPDX-License-Identifier: Apache-2.0
"""The manifest of a generation: lines that are only ever added, in files that roll.

A reader takes whole lines and remembers how far it has come. What follows the last newline may
still be written to: it is left alone until it is whole, or until the writer that continues after a
crash has cut it off. Only what is longer than any line is passed over unfinished; such a tail is
never cut off but ended with a newline, so that no reader stands beyond the end.

A file that is full is followed by the next, whose first line, the base, says what all before held.
Files whose segments retention has deleted go, too: what is opened is what is kept.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from gigastream.late_dataclass import replace
from gigastream.spool import layout
from gigastream.spool.entry import MAX_LINE_BYTES, BadLineError, Entry, decode, encode
from gigastream.spool.files import APPEND, NEW, numbers_in, opened, sync, write_all

ROLL_BYTES = 1 << 20
"""A file at least this long is followed by another: about 4,000 segments."""
_READ_BYTES = 4 * MAX_LINE_BYTES

ReadAt = Callable[[int, int], bytes]
"""Gives bytes of the manifest: from an offset, at most so many; none at its end."""


class ManifestReader:
    """Reads one file of a manifest as it grows; `damage` names each line that is none."""

    def __init__(self, name: str = layout.MANIFEST) -> None:
        self.name = name
        self.damage: list[str] = []
        self.offset = 0
        """Bytes that are done with."""
        self.whole_bytes = 0
        """Bytes up to the last newline."""
        self._line = 0
        self._is_in_overlong_line = False

    def poll(self, read_at: ReadAt) -> Iterator[Entry]:
        """Yield the entries of lines that have become whole since the last call."""
        while chunk := read_at(self.offset, _READ_BYTES):
            end = chunk.rfind(b"\n") + 1
            if end == 0:
                if len(chunk) <= MAX_LINE_BYTES:
                    return
                self._pass_over(len(chunk))
            for line in chunk[:end].split(b"\n")[:-1]:
                yield from self._take(line)

    def _pass_over(self, size_bytes: int) -> None:
        self.offset += size_bytes
        self._is_in_overlong_line = True

    def _take(self, line: bytes) -> Iterator[Entry]:
        place = f"line {self._line + 1}, which ends at byte {self.offset + len(line)}"
        is_overlong = self._is_in_overlong_line or len(line) >= MAX_LINE_BYTES
        self._line += 1
        self.offset = self.whole_bytes = self.offset + len(line) + 1
        self._is_in_overlong_line = False
        try:
            if is_overlong:
                raise BadLineError(f"it is longer than {MAX_LINE_BYTES} bytes")
            yield decode(line)
        except BadLineError as error:
            self.damage.append(f"{self.name} {place}, is skipped: {error}")


class ManifestWriter:
    """Adds lines to a generation's manifest, and begins another file when one is full.

    It holds no descriptor between calls. `base` is the one line that a file which goes on begins
    with, kept up to date. Methods raise OSError.
    """

    def __init__(self, folder: Path, base: Entry | None = None) -> None:
        self._folder = folder
        self._rolls = numbers_in(folder, layout.roll_of)
        self._roll = max(self._rolls, default=1)
        self._base = base
        self._last_segment = -1 if base is None else (base.segment or 0) - 1
        self._lasts: dict[int, int] = {}
        """Of files that are full, by number: their last segment."""

    @property
    def path(self) -> Path:
        return self._folder / layout.manifest_name(self._roll)

    def append(self, entry: Entry) -> None:
        """Add a line, wholly or not at all."""
        line = encode(entry)
        with opened(self.path, APPEND) as descriptor:
            size_bytes = os.fstat(descriptor).st_size
            if size_bytes < ROLL_BYTES:
                _append(descriptor, line, size_bytes)
        if size_bytes >= ROLL_BYTES:
            self._begin_next(line)
        self._base = _after(self._base, entry)
        if entry.segment is not None:
            self._last_segment = entry.segment

    def _begin_next(self, line: bytes) -> None:
        """Make the next file, durable, with its base and a line."""
        sync(self.path)
        following = self._folder / layout.manifest_name(self._roll + 1)
        assert self._base is not None
        beside = self._folder / layout.MAKING
        beside.unlink(missing_ok=True)
        with opened(beside, NEW) as descriptor:
            write_all(descriptor, encode(self._base) + line)
            os.fsync(descriptor)
        os.replace(beside, following)
        sync(self._folder)
        self._lasts[self._roll] = self._last_segment
        self._roll += 1

    def forget_below(self, segment: int) -> None:
        """Delete the full files that list nothing from a segment on."""
        for roll, last in list(self._lasts.items()):
            if last < segment:
                (self._folder / layout.manifest_name(roll)).unlink(missing_ok=True)
                del self._lasts[roll]

    def know(self, roll: int, last_segment: int) -> None:
        """Take in a full file that an earlier run has left."""
        self._lasts[roll] = last_segment

    def sync(self) -> None:
        """Wait until all lines are on the disk."""
        sync(self.path)


def _append(descriptor: int, line: bytes, size_bytes: int) -> None:
    try:
        write_all(descriptor, line)
    except OSError:
        os.ftruncate(descriptor, size_bytes)
        raise


def _after(base: Entry | None, entry: Entry) -> Entry:
    """Return the base that holds a further line, too."""
    before = base or replace(entry, kind="base", segment=0, rows=0, size_bytes=0, lost=None)
    is_segment = entry.kind == "segment"
    return replace(
        before,
        segment=(entry.segment or 0) + 1 if is_segment else before.segment,
        rows=before.rows + (entry.rows if is_segment else 0),
        size_bytes=before.size_bytes + (entry.size_bytes if is_segment else 0),
        checksum=0,
        bounds=entry.bounds,
        base_ns=entry.base_ns,
        joint=entry.joint,
        first=entry.last,
        last=entry.last,
        made_ns=entry.made_ns,
    )


def base_of(entries: list[Entry]) -> Entry | None:
    """Return the base that holds these lines of the newest file."""
    base: Entry | None = None
    for entry in entries:
        base = entry if entry.kind == "base" else _after(base, entry)
    return base


def read_roll(path: Path) -> tuple[list[Entry], ManifestReader]:
    """Return the entries of one file and the reader that stands behind them. Raises OSError."""
    reader = ManifestReader(path.name)
    with opened(path) as descriptor:
        return list(reader.poll(lambda at, size: os.pread(descriptor, size, at))), reader


def mend_tail(path: Path, reader: ManifestReader, *, mends: bool = True) -> int:
    """Cut off, or end, what a crash left after the last whole line; return its bytes."""
    with opened(path, os.O_WRONLY | os.O_APPEND if mends else os.O_RDONLY) as descriptor:
        torn_bytes = os.fstat(descriptor).st_size - reader.whole_bytes
        if not mends:
            return torn_bytes
        if reader.offset > reader.whole_bytes:
            write_all(descriptor, b"\n")
        elif torn_bytes:
            os.ftruncate(descriptor, reader.whole_bytes)
    return torn_bytes
