# SPDX-License-Identifier: Apache-2.0
"""Which segments are deleted: the oldest, by age and bytes, and none that a reader still needs.

What is deleted is first said in the generation's file `retained`, so that a reader can tell a
segment that was let go from one that is missing.
"""

from __future__ import annotations

import json
import time
from collections import deque
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from gigastream.spool import layout
from gigastream.spool.commits import CommitWatch
from gigastream.spool.entry import Entry
from gigastream.spool.files import replace_json
from gigastream.spool.settings import SpoolSettings


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
    except (TypeError, RecursionError) as error:
        raise ValueError(str(error)) from None
    if not all(type(number) is int and number >= 0 for number in asdict(retained).values()):
        raise ValueError("its numbers are no counts")
    return retained


class Shelf:
    """The segments of one generation that are still there, the oldest first."""

    def __init__(self, folder: Path, entries: Iterable[Entry], margin_ns: int) -> None:
        self.folder = folder
        self._retained = read_retained(folder)
        self._watch = CommitWatch(folder, margin_ns)
        self._kept = deque(entry for entry in entries if self._is_kept(entry))
        self.size_bytes = sum(entry.size_bytes for entry in self._kept)

    def add(self, entry: Entry) -> None:
        """Put a segment that has just been listed behind the others."""
        self._kept.append(entry)
        self.size_bytes += entry.size_bytes

    def prune(self, made_before_ns: int, excess_bytes: int) -> None:
        """Delete what was made before a time, and at least so many bytes, as readers allow."""
        floor = self._watch.floor(time.monotonic_ns())
        deleted: list[Entry] = []
        while self._kept and (self._kept[0].segment or 0) < floor:
            oldest = self._kept[0]
            if oldest.made_ns >= made_before_ns and excess_bytes <= 0:
                break
            excess_bytes -= oldest.size_bytes
            deleted.append(self._kept.popleft())
        if deleted:
            self._delete(deleted)

    def _delete(self, entries: list[Entry]) -> None:
        self.size_bytes -= sum(entry.size_bytes for entry in entries)
        self._retained = self._retained.after(entries)
        replace_json(self.folder / layout.RETAINED, asdict(self._retained))
        for entry in entries:
            self._path(entry).unlink(missing_ok=True)

    def _is_kept(self, entry: Entry) -> bool:
        """Whether a segment is there; one that a crash left half deleted is deleted now."""
        if entry.segment is None:
            return False
        if entry.segment < self._retained.first:
            self._path(entry).unlink(missing_ok=True)
        return self._path(entry).exists()

    def _path(self, entry: Entry) -> Path:
        return self.folder / layout.segment_name(entry.segment or 0)


class Retention:
    """The shelves of a track, the oldest generation first. Methods raise OSError."""

    def __init__(self, settings: SpoolSettings, shelves: list[Shelf]) -> None:
        self._keep_bytes = settings.keep_bytes
        self._keep_age_ns = settings.keep_age_ns
        self._shelves = shelves

    def add(self, entry: Entry) -> None:
        """Take a segment of the newest generation in."""
        self._shelves[-1].add(entry)

    def prune(self) -> None:
        """Delete what need not be kept."""
        now_ns = time.time_ns()
        made_before_ns = 0 if self._keep_age_ns is None else now_ns - self._keep_age_ns
        for shelf in self._shelves:
            shelf.prune(made_before_ns, self._excess_bytes())

    def _excess_bytes(self) -> int:
        if self._keep_bytes is None:
            return 0
        return sum(shelf.size_bytes for shelf in self._shelves) - self._keep_bytes


def read_retained(folder: Path) -> Retained:
    """Return what retention has deleted of a generation; nothing if its file cannot be read."""
    path = folder / layout.RETAINED
    try:
        return decode_retained(path.read_bytes())
    except (FileNotFoundError, ValueError):
        return Retained()
