# SPDX-License-Identifier: Apache-2.0
"""What a writer finds when it goes on with a generation, and what the last run lost.

Listed rows stay. A torn manifest line and segments that were not listed yet are counted, said in
the new run's line, and removed.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from gigastream.spool import layout
from gigastream.spool.entry import NOTHING, Entry, Lost
from gigastream.spool.files import checksum
from gigastream.spool.manifest import mend_tail, read_all
from gigastream.spool.retention import read_retained


@dataclass(frozen=True, slots=True)
class Found:
    """A generation as the last run left it."""

    entries: list[Entry] = field(default_factory=list)
    unlisted: list[Path] = field(default_factory=list)
    """Files to be deleted when the loss of them has been told."""
    next_segment: int = 0
    lost: Lost = field(default_factory=Lost)

    @property
    def is_ended(self) -> bool:
        return any(entry.kind == "end" for entry in self.entries)

    def progress(self, columns: int) -> tuple[tuple[int, ...], int]:
        """Return the bounds and the base bound that the last run had reached."""
        bounds, base_ns = (NOTHING,) * columns, NOTHING
        for entry in self.entries:
            if len(entry.bounds) == columns:
                bounds = tuple(map(max, bounds, entry.bounds))
                base_ns = max(base_ns, entry.base_ns)
        return bounds, base_ns


def find(folder: Path, unsynced_ns: int) -> Found:
    """Look at a generation, and mend its manifest's last line. Raises OSError.

    `unsynced_ns`: segments that were listed this long before the last line may not have been
    durable, so that their bytes are read again; of the others only the size is asked.
    """
    manifest = folder / layout.MANIFEST
    entries, reader = read_all(manifest)
    files = _segment_files(folder)
    listed = {entry.segment: entry for entry in entries if entry.segment is not None}
    last = max(listed, default=-1)
    unlisted = [path for number, path in sorted(files.items()) if number > last]
    damaged = _damaged(folder, listed, unsynced_ns)
    lost = Lost(
        manifest_bytes=mend_tail(manifest, reader),
        segments=len(unlisted),
        segment_bytes=sum(path.stat().st_size for path in unlisted),
        damaged_segments=len(damaged),
        damaged_rows=sum(entry.rows for entry in damaged),
    )
    # Where lines are damaged, or all gone, an unlisted segment may have been listed: it is kept,
    # and no number is used again whose file exists.
    is_whole = bool(entries) and not reader.damage
    return Found(entries, unlisted if is_whole else [], max([last, *files]) + 1, lost)


def _segment_files(folder: Path) -> dict[int, Path]:
    numbered = ((layout.segment_of(name), folder / name) for name in os.listdir(folder))
    return {number: path for number, path in numbered if number is not None}


def _damaged(folder: Path, listed: dict[int, Entry], unsynced_ns: int) -> list[Entry]:
    """Return the listed segments that should be there and are missing, torn or changed."""
    first = read_retained(folder).first
    since_ns = max((entry.made_ns for entry in listed.values()), default=0) - unsynced_ns
    return [
        entry
        for number, entry in listed.items()
        if number >= first
        and _is_damaged(folder / layout.segment_name(number), entry, entry.made_ns >= since_ns)
    ]


def _is_damaged(path: Path, entry: Entry, reads: bool) -> bool:
    try:
        if path.stat().st_size != entry.size_bytes:
            return True
        return reads and checksum(path) != (entry.size_bytes, entry.checksum)
    except FileNotFoundError:
        return True
