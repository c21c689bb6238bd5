# SPDX-License-Identifier: Apache-2.0
"""What a track's manifest has said so far: its segments, and the punctuation behind each."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable

from gigastream.spool import END, NOTHING, Entry


class SegmentIndex:
    """A track's segments in order, and how far time has come once each of them is read.

    A manifest line of punctuation alone belongs to the segment before it: it is reached with it.
    """

    def __init__(self) -> None:
        self._segments: list[Entry] = []
        self._numbers: list[int] = []
        self._reached_ns: list[int] = []
        self._rows_before: list[int] = []
        self._reached_before_ns = NOTHING
        self._begins_at = 0
        self._is_ended = False
        self.is_followed = False
        """Whether another generation goes on, so that the end of this one is none."""
        self.rows = 0
        """Of all segments that were listed, those included that retention has deleted."""
        self.missed_rows = 0
        """Of segments whose lines are damaged, as far as a later line tells."""
        self.forgotten_below = 0
        """Segments that it cannot tell of any more."""

    def add(self, entries: Iterable[Entry]) -> None:
        """Take what a poll of the manifest gave."""
        for entry in entries:
            if entry.kind == "base" and entry.segment is not None:
                self._add_base(entry.segment, entry.rows)
            if entry.is_segment and entry.segment is not None:
                self._segments.append(entry)
                self._numbers.append(entry.segment)
                self._rows_before.append(self.rows)
                self.rows += entry.rows
                self._reached_ns.append(self.heartbeat_ns)
            if entry.kind == "end":
                self._is_ended = True
            else:
                self._reach(entry.base_ns)

    def __len__(self) -> int:
        return len(self._segments)

    def _add_base(self, segment: int, rows: int) -> None:
        """What the files before this one held."""
        missed = max(0, rows - self.rows - self.missed_rows)
        if self._numbers:
            self.missed_rows += missed
        else:
            self._begins_at = max(self._begins_at, segment)
            self.rows += missed

    def _reach(self, base_ns: int) -> None:
        if self._reached_ns:
            self._reached_ns[-1] = max(self._reached_ns[-1], base_ns)
        else:
            self._reached_before_ns = max(self._reached_before_ns, base_ns)

    @property
    def heartbeat_ns(self) -> int:
        """The punctuation behind everything."""
        if self._is_ended and not self.is_followed:
            return END
        return self._reached_ns[-1] if self._reached_ns else self._reached_before_ns

    @property
    def next_segment(self) -> int:
        """The number after the last segment known."""
        return self._numbers[-1] + 1 if self._numbers else self._begins_at

    def heartbeat_before_ns(self, segment: int) -> int:
        """The punctuation reached once all segments below `segment` are read."""
        index = bisect_left(self._numbers, segment)
        if index == len(self._numbers):
            return self.heartbeat_ns
        return self._reached_ns[index - 1] if index else self._reached_before_ns

    @property
    def first_segment(self) -> int:
        """The number of the first segment known."""
        return self._numbers[0] if self._numbers else self._begins_at

    def rows_before(self, segment: int) -> int:
        """The rows of all segments below one, as far as it is known and not forgotten."""
        index = bisect_left(self._numbers, segment)
        return self._rows_before[index] if index < len(self._numbers) else self.rows

    def after(self, segment: int) -> Entry | None:
        """The first segment with that number or a greater one."""
        index = bisect_left(self._numbers, segment)
        return self._segments[index] if index < len(self._segments) else None

    def between(self, start: int, end: int) -> list[Entry]:
        """The segments numbered from `start` to `end` - 1."""
        return self._segments[bisect_left(self._numbers, start) : bisect_left(self._numbers, end)]

    def forget_below(self, segment: int) -> None:
        """Drop segments that nobody asks for any more; the last one stays, for its number."""
        count = min(bisect_left(self._numbers, segment), len(self._segments) - 1)
        if count <= 0:
            return
        self._reached_before_ns = self._reached_ns[count - 1]
        self.forgotten_below = self._numbers[count]
        del self._segments[:count], self._numbers[:count], self._reached_ns[:count]
        del self._rows_before[:count]
