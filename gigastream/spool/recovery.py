# SPDX-License-Identifier: Apache-2.0
"""What a writer finds when it goes on with a generation, and what the last run lost.

Listed rows stay. A torn manifest line and segments that were not listed yet are counted, said in
the new run's line, and removed. Only the manifest's last file is read: what is listed in the ones
before was durable when it began.
"""

from __future__ import annotations

from pathlib import Path

from gigastream.late_dataclass import dataclass, field, replace
from gigastream.spool import layout
from gigastream.spool.entry import Entry, Lost, TrackProgress
from gigastream.spool.files import checksum, numbers_in
from gigastream.spool.manifest import mend_tail, read_roll
from gigastream.spool.progress import TrackState, nothing
from gigastream.spool.retention import read_retained


@dataclass(frozen=True, slots=True)
class RecoveredGeneration:
    """A generation as the last run left it."""

    entries: list[Entry] = field(default_factory=list)
    """Of the manifest's last file."""
    unlisted: list[Path] = field(default_factory=list)
    """Files to be deleted when the loss of them has been recorded."""
    next_segment: int = 0
    """A number that no file has."""
    next_listed: int = 0
    """The number after the last that is listed."""
    lost: Lost = field(default_factory=Lost)
    rolls: list[int] = field(default_factory=list)
    """The manifest's files; none: there is no manifest yet."""

    @property
    def is_torn(self) -> bool:
        """Whether the run that begins has something to put right."""
        return bool(self.rolls and (self.lost.manifest_bytes or self.unlisted))

    def state(self, columns: int, recorded: TrackState | None) -> TrackState:
        """Return how far the last run had come: by its manifest, and by what was `recorded`."""
        state = nothing(columns)._replace(next_segment=self.next_listed)
        if recorded is not None and len(recorded.bounds) == columns:
            state = state.at(recorded.progress)
            next_segment = max(self.next_listed, recorded.next_segment)
            state = state._replace(is_ended=recorded.is_ended, next_segment=next_segment)
        for entry in self.entries:
            if len(entry.bounds) == columns:
                state = state.at(state.progress.advanced(*entry.progress))
        is_ended = state.is_ended or any(entry.kind == "end" for entry in self.entries)
        return state._replace(is_ended=is_ended, size_bytes=self._size_bytes())

    def before_end(self, columns: int, recorded: TrackState | None) -> TrackProgress:
        """Return how far rows had come, which the end, after which there are none, does not say."""
        is_of_rows = recorded is not None and not recorded.is_ended
        rows = replace(self, entries=[entry for entry in self.entries if entry.kind != "end"])
        return rows.state(columns, recorded if is_of_rows else None).progress

    def _size_bytes(self) -> int:
        return sum(entry.size_bytes for entry in self.entries)


def find(folder: Path, unsynced_ns: int, *, mends: bool = True) -> RecoveredGeneration:
    """Look at a generation, and mend its manifest's last line if it may. Raises OSError.

    `unsynced_ns`: segments that were listed this long before the last line may not have been
    durable, so that their bytes are read again; of the others only the size is asked.
    """
    files = {
        number: folder / layout.segment_name(number)
        for number in numbers_in(folder, layout.segment_of)
    }
    rolls = numbers_in(folder, layout.roll_of)
    if not rolls:
        return RecoveredGeneration(next_segment=max(files, default=-1) + 1)
    manifest = folder / layout.manifest_name(rolls[-1])
    entries, reader = read_roll(manifest)
    listed = {entry.segment: entry for entry in entries if entry.kind == "segment"}
    bases = [(entry.segment or 0) - 1 for entry in entries if entry.kind == "base"]
    last = max([-1, *bases, *(number for number in listed if number is not None)])
    unlisted = [path for number, path in files.items() if number > last]
    damaged = _damaged(folder, listed, unsynced_ns)
    lost = Lost(
        manifest_bytes=mend_tail(manifest, reader, mends=mends),
        segments=len(unlisted),
        segment_bytes=sum(path.lstat().st_size for path in unlisted),
        damaged_segments=len(damaged),
        damaged_rows=sum(entry.rows for entry in damaged),
    )
    # Where lines are damaged, or all gone, an unlisted segment may have been listed: it is kept,
    # and no number is used again whose file exists.
    is_whole = bool(entries) and not reader.damage
    removed = unlisted if is_whole else []
    return RecoveredGeneration(entries, removed, max([last, *files]) + 1, last + 1, lost, rolls)


def _damaged(folder: Path, listed: dict[int | None, Entry], unsynced_ns: int) -> list[Entry]:
    """Return the listed segments that should be there and are missing, torn or changed."""
    first = read_retained(folder).first
    since_ns = max((entry.made_ns for entry in listed.values()), default=0) - unsynced_ns
    return [
        entry
        for entry in listed.values()
        if (entry.segment or 0) >= first
        and _is_damaged(
            folder / layout.segment_name(entry.segment or 0), entry, entry.made_ns >= since_ns
        )
    ]


def _is_damaged(path: Path, entry: Entry, reads: bool) -> bool:
    try:
        if path.lstat().st_size != entry.size_bytes:
            return True
        return reads and checksum(path) != (entry.size_bytes, entry.checksum)
    except FileNotFoundError:
        return True
