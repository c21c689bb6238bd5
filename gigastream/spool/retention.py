# SPDX-License-Identifier: Apache-2.0
"""Which segments are deleted: the oldest, by age and bytes, and none that a reader still needs.

What is deleted is first said in the generation's file `retained`, so that a reader can tell a
segment that was let go from one that is missing.
"""

from __future__ import annotations

import json
import os
import time
from collections import deque
from collections.abc import Iterable
from functools import partial
from pathlib import Path

from gigastream.late_dataclass import asdict, dataclass
from gigastream.spool import layout
from gigastream.spool.commits import CommitWatch, committed_floor
from gigastream.spool.entry import MAX_COUNT, Entry
from gigastream.spool.files import numbers_in, opened, replace_json
from gigastream.spool.manifest import ManifestWriter, read_roll
from gigastream.spool.settings import SpoolSettings

MAX_RETAINED_BYTES = 1 << 12
_READ_NS = 200_000_000
"""How long reading manifests may take each time that is looked for what is to be deleted."""


@dataclass(frozen=True, slots=True)
class Retained:
    """What a generation still holds: segments from `first`; the rest is what was deleted."""

    first: int = 0
    segments: int = 0
    rows: int = 0
    size_bytes: int = 0

    def after(self, deleted: Iterable[Entry]) -> Retained:
        """Return the state after these are deleted, too."""
        entries = list(deleted)
        return Retained(
            first=max([self.first, *((entry.segment or 0) + 1 for entry in entries)]),
            segments=self.segments + len(entries),
            rows=self.rows + sum(entry.rows for entry in entries),
            size_bytes=self.size_bytes + sum(entry.size_bytes for entry in entries),
        )


def decode_retained(text: bytes) -> Retained:
    """Return the content of a file `retained`. Raises ValueError."""
    try:
        value = json.loads(text)
        retained = Retained(**value)
    except (TypeError, RecursionError):
        raise ValueError("it is not an object of counts") from None
    if not all(type(n) is int and 0 <= n <= MAX_COUNT for n in asdict(retained).values()):
        raise ValueError("its numbers are no counts")
    return retained


class RetainedSegments:
    """The segments of one generation that are still there, the oldest first.

    A spool of weeks has a million of them, which nobody who begins to write it should wait for: the
    files of its manifest are read bit by bit, by read_more(); what is not read yet is not deleted.
    """

    def __init__(self, folder: Path, margin_ns: int, manifest: ManifestWriter | None) -> None:
        """With the manifest that is written, what add() gets is behind what it has now."""
        self.folder = folder
        self._retained = read_retained(folder)
        self._watch = CommitWatch(partial(committed_floor, folder / layout.READERS), margin_ns)
        self._unread = deque(numbers_in(folder, layout.roll_of))
        self._last_roll = self._unread[-1] if self._unread else None
        self._kept = deque[Entry]()
        self._newest = deque[Entry]()
        """Of the last file, and what was added since, until those before it are read."""
        self.size_bytes = 0
        if manifest is not None and self._unread:
            self._newest.extend(self._read(self._unread.pop())[0])
        self._manifest = manifest or ManifestWriter(folder)
        self._join()

    def read_more(self, until_ns: int | None = None) -> None:
        """Read files of the manifest, the oldest first, up to a time of the monotonic clock."""
        while self._unread and (until_ns is None or time.monotonic_ns() < until_ns):
            roll = self._unread.popleft()
            found, last = self._read(roll)
            self._kept.extend(found)
            if roll != self._last_roll:
                self._manifest.know(roll, last)
        self._join()

    def _read(self, roll: int) -> tuple[list[Entry], int]:
        """What of a file's segments is there, and the last number that it lists."""
        entries, _ = read_roll(self.folder / layout.manifest_name(roll))
        kept = [entry for entry in entries if self._is_kept(entry)]
        self.size_bytes += sum(entry.size_bytes for entry in kept)
        return kept, max((e.segment for e in entries if e.segment is not None), default=-1)

    def _join(self) -> None:
        if not self._unread:
            self._kept.extend(self._newest)
            self._newest.clear()

    def add(self, entry: Entry) -> None:
        """Put a segment that has just been listed behind the others."""
        (self._newest if self._unread else self._kept).append(entry)
        self.size_bytes += entry.size_bytes

    def oldest_ns(self) -> int | None:
        """When the oldest segment was listed; None: there is none. From any thread."""
        try:
            return self._kept[0].made_ns
        except IndexError:
            return None

    def due(self, floor: int, made_before_ns: int, excess_bytes: int) -> list[Entry]:
        """Return what would be deleted below a floor."""
        return take_excess(self._kept.copy(), floor, made_before_ns, excess_bytes)

    def prune(self, made_before_ns: int, excess_bytes: int, floor: int | None = None) -> None:
        """Delete what was made before a time, and at least so many bytes, as readers allow.

        `floor` stands for what the readers say.
        """
        if floor is None:
            floor = self._watch.floor(time.monotonic_ns())
        deleted = take_excess(self._kept, floor, made_before_ns, excess_bytes)
        if deleted:
            self._delete(deleted)

    def _delete(self, entries: list[Entry]) -> None:
        self.size_bytes -= sum(entry.size_bytes for entry in entries)
        self._retained = self._retained.after(entries)
        replace_json(self.folder / layout.RETAINED, asdict(self._retained))
        for entry in entries:
            self._path(entry).unlink(missing_ok=True)
        self._manifest.forget_below(self._retained.first)

    def _is_kept(self, entry: Entry) -> bool:
        """Whether a segment is there; one that a crash left half deleted is deleted now."""
        if entry.segment is None or entry.kind != "segment":
            return False
        if entry.segment < self._retained.first:
            self._path(entry).unlink(missing_ok=True)
        return self._path(entry).exists()

    def _path(self, entry: Entry) -> Path:
        return self.folder / layout.segment_name(entry.segment or 0)


class Retention:
    """The generations of a track, the oldest generation first. Methods raise OSError."""

    def __init__(self, settings: SpoolSettings, track_folder: Path) -> None:
        """None is read if nothing is ever deleted."""
        self._settings = settings
        self._generations = [
            RetainedSegments(
                track_folder / layout.number_name(number), settings.keep_margin_ns, None
            )
            for number in numbers_in(track_folder, layout.number_of)
            if settings.deletes
        ]

    def begin(self, folder: Path, manifest: ManifestWriter) -> None:
        """Take in the generation that is written, whose manifest it is."""
        if self._settings.deletes:
            self._generations = [
                generation for generation in self._generations if generation.folder != folder
            ]
            self._generations.append(
                RetainedSegments(folder, self._settings.keep_margin_ns, manifest)
            )

    def add(self, entry: Entry) -> None:
        """Take a segment of the newest generation in."""
        if self._settings.deletes:
            self._generations[-1].add(entry)

    def prune(self) -> None:
        """Delete what need not be kept."""
        now_ns = time.time_ns()
        age_ns = self._settings.keep_age_ns
        made_before_ns = 0 if age_ns is None else now_ns - age_ns
        until_ns = time.monotonic_ns() + _READ_NS
        for generation in self._generations:
            generation.read_more(until_ns)
            generation.prune(made_before_ns, self._excess_bytes())

    def oldest_ns(self) -> int | None:
        """When the oldest segment was listed; None: there is none. From any thread."""
        found = (generation.oldest_ns() for generation in list(self._generations))
        return min((at for at in found if at is not None), default=None)

    def _excess_bytes(self) -> int:
        if self._settings.keep_bytes is None:
            return 0
        return (
            sum(generation.size_bytes for generation in self._generations)
            - self._settings.keep_bytes
        )


def read_retained(folder: Path) -> Retained:
    """Return what retention has deleted of a generation; nothing if its file cannot be read."""
    path = folder / layout.RETAINED
    try:
        with opened(path) as descriptor:
            return decode_retained(os.read(descriptor, MAX_RETAINED_BYTES))
    except (OSError, ValueError):
        return Retained()


def take_excess(
    kept: deque[Entry], floor: int, made_before_ns: int, excess_bytes: int
) -> list[Entry]:
    """Take the segments below a floor that were made before a time, or are so many bytes at least.

    `kept` are a generation's, the oldest first.
    """
    taken: list[Entry] = []
    while kept and (kept[0].segment or 0) < floor:
        oldest = kept[0]
        if oldest.made_ns >= made_before_ns and excess_bytes <= 0:
            break
        excess_bytes -= oldest.size_bytes
        taken.append(kept.popleft())
    return taken
