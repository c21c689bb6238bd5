# SPDX-License-Identifier: Apache-2.0
"""The engine's side of a track: rows into the open segment, and when it is cut."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow

from gigastream.late_dataclass import replace
from gigastream.punctuation import JointBound
from gigastream.spool import layout
from gigastream.spool.entry import END, Entry, TrackProgress
from gigastream.spool.errors import SpoolError, writing
from gigastream.spool.publisher import Publisher
from gigastream.spool.query_set import StreamDescription
from gigastream.spool.segment import OpenSegment
from gigastream.spool.settings import SpoolSettings
from gigastream.spool.track_log import TrackLog
from gigastream.spool.value_ranges import ValueRanges, temporal_signs


class OpenFiles:
    """How many segments of a spool hold a descriptor; where no more may, one is cut early."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._tracks: set[int] = set()

    def has_room_for(self, track: TrackWriter) -> bool:
        """Whether a track's segment may hold a descriptor; noted if it may."""
        if id(track) not in self._tracks and len(self._tracks) >= self._most:
            return False
        self._tracks.add(id(track))
        return True

    def let_go(self, track: TrackWriter) -> None:
        self._tracks.discard(id(track))


class TrackWriter:
    """Writes one stream of one interface.

    `resume`: the progress of the last run, whose generation this one continues; all NOTHING in a
    fresh generation. Rows below it must not be written: readers may have closed their windows.
    """

    def __init__(
        self,
        log: TrackLog,
        publisher: Publisher,
        description: StreamDescription,
        settings: SpoolSettings,
        open_files: OpenFiles,
    ) -> None:
        resume = log.state.progress
        self.resume = resume
        self._log = log
        self._publisher = publisher
        self._schema = description.schema
        self._signs = temporal_signs(description.columns)
        self._settings = settings
        self._progress = self._listed = resume
        self._next_segment = log.next_segment
        self._open_files = open_files
        self._open: OpenSegment | None = None
        self._failure: SpoolError | None = None
        self._is_over = False

    def write(
        self,
        batch: pyarrow.RecordBatch | None,
        bounds: Sequence[int],
        base_ns: int,
        sequence: int,
        *,
        joint: JointBound | None = None,
        is_end: bool = False,
    ) -> None:
        """Take a batch, or punctuation alone.

        `bounds`, and `joint`, hold after the batch's rows. Where no rows wait, punctuation that has
        grown is told soon, else with the segment. `is_end` ends the generation. Raises SpoolError;
        ValueError for bounds or a schema that are not the track's.
        """
        self._check()
        progress = self._progress.advanced(bounds, base_ns, joint)
        if batch is not None and batch.num_rows:
            self._add(batch, sequence)
        if is_end:
            self._end(progress, sequence)
            return
        self._progress = progress
        if self._open is not None:
            self._cut_if_due()
        elif self._progress != self._listed:
            entry = self._entry("punctuation", sequence, sequence, None, 0)
            self._publisher.submit(lambda: self._log.list_punctuation(entry))

    def tick(self) -> None:
        """Cut the open segment if it is old enough; call it now and then. Raises SpoolError."""
        if not self._is_over:
            self._check()
            self._cut_if_due()

    @property
    def is_over(self) -> bool:
        """Whether it takes no more."""
        return self._is_over

    def close(self) -> None:
        """List what is written. The generation goes on with the next run. Raises SpoolError."""
        if self._is_over:
            return
        self._is_over = True
        if self._failure is None:
            self._cut()
        self._publisher.submit(self._log.close)

    def _check(self) -> None:
        if self._is_over:
            raise ValueError("the track is closed or has ended")
        if self._failure is not None:
            raise self._failure
        self._publisher.check()

    def _add(self, batch: pyarrow.RecordBatch, sequence: int) -> None:
        if batch.schema != self._schema:
            raise ValueError(f"a batch of {batch.schema} on a track of {self._schema}")
        if self._open is None:
            self._open = self._opened(sequence)
        segment = self._open
        segment.write(batch, sequence)
        if not segment.is_full:
            return
        if self._open_files.has_room_for(self):
            self._on_segment(segment, segment.flush)
        else:
            self._cut()

    def _opened(self, sequence: int) -> OpenSegment:
        path = self._log.folder / layout.segment_name(self._next_segment)
        ranges = ValueRanges(self._signs, len(self._schema))
        segment = OpenSegment(
            path, self._next_segment, self._schema, sequence, self._log.make, ranges
        )
        self._next_segment += 1
        return segment

    def _on_segment(self, segment: OpenSegment, act: Callable[[], None]) -> None:
        """Do something with the open segment; if that fails the track takes no more."""
        try:
            are_lost = "1 row is lost" if segment.rows == 1 else f"{segment.rows:,} rows are lost"
            with writing(f"cannot write {segment.path}: {are_lost}"):
                act()
        except SpoolError as error:
            self._failure = error
            self._open = None
            segment.abandon()
            self._open_files.let_go(self)
            raise

    def _cut_if_due(self) -> None:
        segment, settings = self._open, self._settings
        if segment is not None and (
            segment.rows >= settings.segment_rows
            or segment.size_bytes >= settings.segment_bytes
            or segment.age_ns >= settings.segment_age_ns
        ):
            self._cut()

    def _cut(self) -> None:
        segment = self._open
        if segment is None:
            return
        self._on_segment(segment, segment.close)
        self._open = None
        self._open_files.let_go(self)
        entry = self._entry("segment", segment.first, segment.last, segment.number, segment.rows)
        entry = replace(entry, ranges=segment.ranges.known())
        path = segment.path
        self._publisher.submit_segment(lambda: self._log.list_segment(path, entry))

    def _end(self, progress: TrackProgress, sequence: int) -> None:
        # The last segment does not carry the end's bounds: after a crash between the two lines a
        # run that goes on could write nothing above them.
        self._cut()
        self._progress = progress._replace(base_ns=END)
        entry = self._entry("end", sequence, sequence, None, 0)
        self._publisher.submit(lambda: self._log.list_end(entry))
        self._is_over = True
        self._publisher.submit(self._log.close)

    def _entry(self, kind: str, first: int, last: int, segment: int | None, rows: int) -> Entry:
        """Return a line that carries the progress; the log fills in what it finds on the disk."""
        self._listed = self._progress
        bounds, base_ns, joint = self._progress
        return Entry(
            kind, segment, rows, 0, 0, bounds, base_ns, first, last, made_ns=0, joint=joint
        )
