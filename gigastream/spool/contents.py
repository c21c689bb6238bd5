# SPDX-License-Identifier: Apache-2.0
"""What is in a spool: a generation of a stream of an interface a piece, in numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gigastream.late_dataclass import asdict, dataclass, field
from gigastream.spool.entry import END, NOTHING, Entry
from gigastream.spool.retention import Retained
from gigastream.spool.track import Track


@dataclass(slots=True)
class TrackContents:
    """A generation that was listed; times are nanoseconds since 1970, None where there is none."""

    stream: str
    interface: str
    generation: int
    segments: int = 0
    rows: int = 0
    size_bytes: int = 0
    """Of what is kept, as the manifest says."""
    first_segment: int | None = None
    last_segment: int | None = None
    first_made_ns: int | None = None
    last_made_ns: int | None = None
    """When the first and the last of these was listed, by the writer's clock."""
    come_to_ns: int | None = None
    """No later row is of an earlier packet."""
    is_ended: bool = False
    retired: Retained = field(default_factory=Retained)
    """What retention has deleted; `first` is the first segment that is kept."""
    readers: dict[str, int] | None = None
    """The segment below which each needs nothing more; None where that cannot be told."""
    damage: list[str] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """Return it as plain data."""
        return asdict(self)

    def take(self, entry: Entry) -> None:
        """Count a line."""
        if entry.base_ns not in (NOTHING, END):
            self.come_to_ns = entry.base_ns
        if not entry.is_segment or (entry.segment or 0) < self.retired.first:
            return
        if self.first_segment is None:
            self.first_segment, self.first_made_ns = entry.segment, entry.made_ns
        self.last_segment, self.last_made_ns = entry.segment, entry.made_ns
        self.segments += 1
        self.rows += entry.rows
        self.size_bytes += entry.size_bytes


def contents_of(track: Track) -> TrackContents:
    """List a generation; its segments are not opened. Raises SpoolReadError."""
    found = TrackContents(track.stream, track.interface, track.generation)
    entries: Sequence[Entry] = track.poll()
    found.retired = track.retained()
    found.readers = track.readers()
    for entry in entries:
        found.take(entry)
    found.is_ended = track.is_ended
    found.damage = [*track.damage, *([track.away] if track.away else [])]
    return found
