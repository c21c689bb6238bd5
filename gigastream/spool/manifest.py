# SPDX-License-Identifier: Apache-2.0
"""The manifest: lines that are only ever added.

A reader takes whole lines and remembers how far it has come. What follows the last newline may
still be written to: it is left alone until it is whole, or until the writer that continues after a
crash has cut it off. Only what is longer than any line is passed over unfinished; such a tail is
never cut off but ended with a newline, so that no reader stands beyond the end.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from gigastream.spool.entry import MAX_LINE_BYTES, BadLineError, Entry, decode, encode

_READ_BYTES = 4 * MAX_LINE_BYTES

ReadAt = Callable[[int, int], bytes]
"""Gives bytes of the manifest: from an offset, at most so many; none at its end."""


class ManifestReader:
    """Reads a manifest as it grows; `damage` names each line that is none."""

    def __init__(self) -> None:
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
            self.damage.append(f"manifest {place}, is skipped: {error}")


class ManifestWriter:
    """Adds lines to a manifest. Raises OSError."""

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
        self._size_bytes = os.fstat(self._descriptor).st_size

    def append(self, entry: Entry) -> None:
        """Add a line, wholly or not at all."""
        line = encode(entry)
        try:
            written = os.write(self._descriptor, line)
            while written < len(line):
                written += os.write(self._descriptor, line[written:])
        except OSError:
            os.ftruncate(self._descriptor, self._size_bytes)
            raise
        self._size_bytes += len(line)

    def sync(self) -> None:
        """Wait until all lines are on the disk."""
        os.fsync(self._descriptor)

    def close(self) -> None:
        os.close(self._descriptor)


def read_all(path: Path) -> tuple[list[Entry], ManifestReader]:
    """Return the entries of a manifest and the reader that stands behind them."""
    reader = ManifestReader()
    with open(path, "rb") as stream:

        def read_at(offset: int, size_bytes: int) -> bytes:
            stream.seek(offset)
            return stream.read(size_bytes)

        return list(reader.poll(read_at)), reader


def mend_tail(path: Path, reader: ManifestReader) -> int:
    """Cut off, or end, what a crash left after the last whole line; return its bytes."""
    size_bytes = path.stat().st_size
    torn_bytes = size_bytes - reader.whole_bytes
    if reader.offset > reader.whole_bytes:
        with open(path, "ab") as stream:
            stream.write(b"\n")
    elif torn_bytes:
        os.truncate(path, reader.whole_bytes)
    return torn_bytes
