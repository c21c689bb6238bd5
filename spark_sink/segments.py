# SPDX-License-Identifier: Apache-2.0
"""A micro-batch cut into the parts that tasks read, and the reading.

What travels to a task is plain values, so that it needs nothing of ours to be unpacked.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import astuple, dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from gigastream.spool import Access, Entry, SegmentDamage, Track
from spark_sink.damage_log import note_damage
from spark_sink.errors import SKIP_HINT, SpoolSourceError, tell
from spark_sink.patience import patiently
from spark_sink.tracks import track_of

if TYPE_CHECKING:
    from spark_sink.options import SourceOptions

BATCH_ROWS = 1 << 16
"""Smaller batches are put together: each costs Spark a message, whatever it holds."""


@dataclass(frozen=True)
class Slice:
    """Segments of one track, for one task."""

    path: str
    stream: str
    interface: str
    generation: int
    entries: tuple[Entry, ...]

    @property
    def rows(self) -> int:
        return sum(entry.rows for entry in self.entries)

    def to_values(self) -> tuple[Any, ...]:
        """Plain values that `from_values` understands; what is promised is the driver's affair."""
        entries = tuple(astuple(replace(entry, joint=None, ranges=None)) for entry in self.entries)
        return self.path, self.stream, self.interface, self.generation, entries

    @staticmethod
    def from_values(values: tuple[Any, ...]) -> Slice:
        path, stream, interface, generation, entries = values
        read_entries = tuple(Entry(*entry) for entry in entries)
        return Slice(path, stream, interface, generation, read_entries)


def cut(slices: Sequence[Slice], parts: int) -> list[list[Slice]]:
    """At most `parts` lists of slices, of about as many rows each; no segment is cut."""
    whole = sum(piece.rows for piece in slices)
    cuts: list[list[Slice]] = []
    rows = 0
    for piece in slices:
        for entry in piece.entries:
            # The part that the middle of the segment falls into.
            part = min(parts - 1, (2 * rows + entry.rows) * parts // max(1, 2 * whole))
            _put(cuts, part, replace(piece, entries=(entry,)))
            rows += entry.rows
    return [taken for taken in cuts if taken]


def _put(cuts: list[list[Slice]], part: int, piece: Slice) -> None:
    while len(cuts) <= part:
        cuts.append([])
    taken = cuts[part]
    if taken and replace(taken[-1], entries=piece.entries) == piece:
        piece = replace(piece, entries=taken.pop().entries + piece.entries)
    taken.append(piece)


def read(
    piece: Slice,
    columns: Sequence[str],
    asked: SourceOptions,
    wait: Callable[[float], Any] = time.sleep,
) -> Iterator[pa.RecordBatch]:
    """The rows of the segments, batch by batch; one that is damaged is told and left out.

    A host that is away is waited for, between two looks by `wait`. `asked.damage_log` is a folder
    in which damage is written down. Raises SourceError if retention has deleted a segment, or if
    damage is to fail.
    """
    opened = partial(_opened, piece, asked.access)
    (track,) = patiently(opened, asked.idle_after_s, wait)
    for entry in piece.entries:
        rows = partial(_rows, track, entry, columns)
        try:
            yield from patiently(rows, asked.idle_after_s, wait)
        except SegmentDamage as damage:
            if damage.is_retired or asked.fails_on_damage:
                raise _failure(damage) from None
            tell(str(damage))
            if asked.damage_log is not None:
                note_damage(asked.damage_log, piece.path, track, damage)


def _opened(piece: Slice, access: Access) -> Iterator[Track]:
    yield track_of(piece.path, piece.stream, piece.interface, piece.generation, access)


def _rows(track: Track, entry: Entry, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """A segment's; it is here whole before the first of them is."""
    return _in_larger_batches(track.read(entry, columns))


def _failure(damage: SegmentDamage) -> SpoolSourceError:
    if damage.is_retired:
        hint = 'name the query with .option("reader", "a name"), and retention waits for it'
    else:
        hint = SKIP_HINT
    return SpoolSourceError(str(damage), hint, exit_code=1)


def _in_larger_batches(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        waiting.append(batch)
        if sum(held.num_rows for held in waiting) >= BATCH_ROWS:
            yield _together(waiting)
            waiting = []
    if waiting:
        yield _together(waiting)


def _together(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    return batches[0] if len(batches) == 1 else pa.concat_batches(batches)
