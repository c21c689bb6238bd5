# SPDX-License-Identifier: Apache-2.0
"""Rows that came behind the answer of their window, counted where no window is read for them.

A track's own punctuation says what it cannot have any more, so only segments of one that began
later, or that time has gone on without, are looked at; and of these only those whose line does not
say that all of their rows, or none, are late.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import pyarrow
import pyarrow.compute as pc

from gigastream.plan.nodes import Node
from gigastream.spool import Entry, SegmentDamage, Track
from gigastream.spool.value_ranges import temporal_signs
from spark_sink.reading import Reading
from spark_sink.window_complete.due import Due


@dataclass(frozen=True, slots=True)
class LateRows:
    """Of some segments."""

    rows: int = 0
    unread: int = 0
    """Those of them in segments that no micro-batch opens, since all of their rows are late."""

    def __add__(self, other: LateRows) -> LateRows:
        return LateRows(self.rows + other.rows, self.unread + other.unread)


def late_rows(
    due: Due, stream: Node, reading: Reading, entries: Iterable[Entry], since_ns: int
) -> LateRows:
    """Count the rows below a base time, of which nothing is left to be answered."""
    found = LateRows()
    for entry in entries:
        if reading.index.heartbeat_before_ns(entry.segment or 0) < since_ns:
            found += _of_segment(due, stream, reading.track, entry, since_ns)
    return found


def _of_segment(due: Due, stream: Node, track: Track, entry: Entry, since_ns: int) -> LateRows:
    if not due.has_rows_from(stream, entry, since_ns):
        return LateRows(entry.rows, entry.rows)
    least = due.least_values(stream, since_ns)
    if not any(_may_be_below(entry, place, value) for place, value in least.items()):
        return LateRows()
    names = [track.columns[place]["name"] for place in least]
    try:
        return LateRows(sum(_below(batch, track, least) for batch in track.read(entry, names)))
    except SegmentDamage:
        return LateRows()  # counted where the micro-batch meets it


def _may_be_below(entry: Entry, place: int, value: int) -> bool:
    known = None if entry.ranges is None else entry.ranges[place]
    return known is None or known[0] < value


def _below(batch: pyarrow.RecordBatch, track: Track, least: dict[int, int]) -> int:
    signs = temporal_signs(track.columns)
    is_late = pyarrow.scalar(value=False)
    for index, (place, value) in enumerate(least.items()):
        held = _held(batch.column(index), signs.get(place, 1))
        is_late = pc.or_(is_late, pc.fill_null(pc.less(held, value), fill_value=False))
    return pc.sum(pc.cast(is_late, pyarrow.int64())).as_py() or 0


def _held(values: pyarrow.Array, sign: int) -> pyarrow.Array:
    """Values as bounds have them: of a decreasing column the negative."""
    if pyarrow.types.is_timestamp(values.type):
        values = values.view(pyarrow.int64())
    numbers = pc.cast(values, pyarrow.int64(), safe=False)
    return numbers if sign > 0 else pc.negate(numbers)
