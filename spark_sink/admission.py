# SPDX-License-Identifier: Apache-2.0
"""How much a micro-batch takes: whole segments, of the track whose time is furthest behind first.

The heartbeat of a micro-batch is the least of its tracks', so reading on where it is least closes
windows soonest and holds the fewest of them open.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from heapq import heapify, heappop, heappush

from gigastream.spool import Entry
from spark_sink.offsets import Offsets, Position
from spark_sink.segment_index import SegmentIndex


@dataclass(frozen=True)
class Limits:
    """The most that one micro-batch reads; None: as much as there is.

    One segment is read whatever the limits, or a query would stand still before a large one.
    """

    rows: int | None = None
    segments: int | None = None
    size_bytes: int | None = None


class _Budget:
    """What is left of the limits."""

    def __init__(self, limits: Limits) -> None:
        self._left = {
            "rows": limits.rows,
            "segments": limits.segments,
            "size_bytes": limits.size_bytes,
        }
        self._is_fresh = True

    def takes(self, entry: Entry) -> bool:
        costs = {"rows": entry.rows, "segments": 1, "size_bytes": entry.size_bytes}
        left = {
            name: None if limit is None else limit - costs[name]
            for name, limit in self._left.items()
        }
        has_room = all(rest is None or rest >= 0 for rest in left.values())
        if has_room or self._is_fresh:
            self._left, self._is_fresh = left, False
            return True
        return False


def admit(
    start: Offsets, indexes: Mapping[str, SegmentIndex], limits: Limits
) -> dict[str, Position]:
    """The end of the micro-batch that begins at `start`.

    Each position of `start` has its index, except those of interfaces that have not begun.
    """
    budget = _Budget(limits)
    next_segments = {key: position.segment for key, position in start.items()}
    queue = [_place(key, indexes[key], next_segments[key]) for key in start if key in indexes]
    heapify(queue)
    while queue:
        key = heappop(queue)[-1]
        entry = indexes[key].after(next_segments[key])
        if entry is None or entry.segment is None:
            continue
        if not budget.takes(entry):
            break
        next_segments[key] = entry.segment + 1
        heappush(queue, _place(key, indexes[key], next_segments[key]))
    return {key: _position(start[key], next_segments[key], indexes.get(key)) for key in start}


def _place(key: str, index: SegmentIndex, segment: int) -> tuple[int, int, str]:
    """Whose turn it is: least time reached, then longest there."""
    entry = index.after(segment)
    made_ns = 0 if entry is None else entry.made_ns
    return index.heartbeat_before_ns(segment), made_ns, key


def _position(start: Position, segment: int, index: SegmentIndex | None) -> Position:
    if index is None:
        return start
    reached_ns = max(start.heartbeat_ns, index.heartbeat_before_ns(segment))
    return Position(start.generation, segment, reached_ns)
