# SPDX-License-Identifier: Apache-2.0
"""Whether a generation is as its manifest says: every line and every row is looked at.

What a reader checks on its way is checked here of everything, and beyond it what holds between
lines: sequence numbers, bounds that no later row is below, files that nothing lists.
"""

from __future__ import annotations

from collections.abc import Iterator

from gigastream.late_dataclass import dataclass, field
from gigastream.spool import layout
from gigastream.spool.entry import NOTHING, Entry
from gigastream.spool.errors import SegmentDamage, SpoolReadError, printable
from gigastream.spool.track import Track
from gigastream.spool.value_ranges import ValueRanges, temporal_signs

_KNOWN = (layout.GENERATION, layout.RETAINED, layout.READERS)


@dataclass(slots=True)
class Verified:
    """A generation that was looked at, and a sentence for each thing that is wrong with it."""

    track: Track
    segments: int = 0
    rows: int = 0
    size_bytes: int = 0
    """Of what is sound."""
    lost_segments: int = 0
    lost_rows: int = 0
    """Of what is listed, and cannot be read."""
    findings: list[str] = field(default_factory=list)


def verify(track: Track, *, has_writer: bool) -> Verified:
    """Read all of a generation. A file that is not listed is a finding where nobody writes.

    Raises SpoolAwayError, SpoolReadError.
    """
    found = Verified(track)
    entries = track.poll()
    if track.away is not None:
        found.findings.append(track.away)
    first = track.retained().first
    lines = _Lines(track)
    for entry in entries:
        found.findings += lines.take(entry)
        if entry.is_segment and (entry.segment or 0) >= first:
            _read(found, lines, entry)
    if not has_writer:
        found.findings += _unlisted(track, entries, first)
    found.findings += track.damage
    return found


class _Lines:
    """The lines so far, each of which must follow from those before."""

    def __init__(self, track: Track) -> None:
        self._folder = track.folder
        self._signs = temporal_signs(track.columns)
        self._width = len(track.schema)
        self._bounds = (NOTHING,) * self._width
        self._floor = self._bounds
        """What was promised before the line that was taken last."""
        self._segment: int | None = None
        self._last = 0
        self._is_ended = False

    def take(self, entry: Entry) -> Iterator[str]:
        """Yield what is wrong with a line in this place."""
        if self._is_ended and entry.kind != "end":
            yield f"{self._folder}: a line of a {entry.kind} stands behind the end"
        if any(new < old for new, old in zip(entry.bounds, self._bounds, strict=True)):
            yield f"{self._folder}: punctuation steps back in {_name_of(entry)}"
        if entry.is_segment:
            yield from self._take_segment(entry)
        elif entry.kind in ("run", "base"):
            self._segment, self._last = None, 0
        self._floor = self._bounds
        self._bounds = tuple(map(max, self._bounds, entry.bounds))
        self._is_ended |= entry.kind == "end"

    def _take_segment(self, entry: Entry) -> Iterator[str]:
        number = entry.segment or 0
        if self._segment is not None and number != self._segment + 1:
            yield f"{self._folder}: segments {self._segment + 1} to {number - 1} are not listed"
        if entry.first > entry.last or entry.first < self._last:
            numbers = f"{entry.first} to {entry.last} behind {self._last}"
            yield f"{self._folder}: segment {number} has sequence numbers {numbers}"
        self._segment, self._last = number, max(self._last, entry.last)

    def ranges(self) -> ValueRanges:
        """Return what is to be told the rows of a segment."""
        return ValueRanges(self._signs, self._width)

    def of_rows(self, entry: Entry, path: str, ranges: ValueRanges) -> Iterator[str]:
        """Yield what is wrong with the values of the segment whose line was taken last."""
        known = ranges.known()
        for place, found in enumerate(known or ()):
            if found is not None and found[0] < self._floor[place]:
                behind = f"{found[0]} is behind the punctuation, {self._floor[place]}"
                yield f"{path}: column {place + 1}: {behind}"
        if entry.ranges is not None and known is not None and entry.ranges != known:
            yield f"{path}: its line says other least and greatest values than its rows have"


def _read(found: Verified, lines: _Lines, entry: Entry) -> None:
    track, ranges = found.track, lines.ranges()
    try:
        for batch in track.read(entry):
            ranges.take(batch)
    except SegmentDamage as error:
        if not error.is_retired:  # else it was deleted meanwhile
            found.lost_segments += 1
            found.lost_rows += error.rows
        return
    except SpoolReadError as error:
        found.findings.append(str(error))
        return
    found.segments += 1
    found.rows += entry.rows
    found.size_bytes += entry.size_bytes
    path = f"{track.folder}/{layout.segment_name(entry.segment or 0)}"
    found.findings += lines.of_rows(entry, path, ranges)


def _name_of(entry: Entry) -> str:
    return (
        f"the line of segment {entry.segment}" if entry.is_segment else f"a line of a {entry.kind}"
    )


def _unlisted(track: Track, entries: list[Entry], first: int) -> Iterator[str]:
    """Yield the files that no line lists, and names that no spool has."""
    listed = {entry.segment for entry in entries if entry.is_segment}
    # lines that went with their segments: a base stands for them
    first = max([first, *(entry.segment or 0 for entry in entries[:1] if entry.kind == "base")])
    for name in track.names() or ():
        number = layout.segment_of(name)
        if number is not None and number >= first and number not in listed:
            yield f"{track.folder}/{name} is not listed: its rows do not exist"
        elif number is None and layout.roll_of(name) is None and name not in _KNOWN:
            yield f"{track.folder}/{printable(name)} belongs to no spool"
