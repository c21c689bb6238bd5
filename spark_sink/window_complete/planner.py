# SPDX-License-Identifier: Apache-2.0
"""The next micro-batch of an output, from what the manifests say by now."""

from __future__ import annotations

from collections.abc import Mapping

from gigastream.plan.operators.low_node import LowNode
from gigastream.spool import Entry
from spark_sink.account import Reached
from spark_sink.admission import admit
from spark_sink.look_pace import LookPace
from spark_sink.offsets import Offsets, Position, heartbeat_ms
from spark_sink.options import SourceOptions
from spark_sink.progress import TrackLag, lags
from spark_sink.segments import Slice
from spark_sink.spools import Spools
from spark_sink.window_complete.due import Due
from spark_sink.window_complete.late import late_rows
from spark_sink.window_complete.micro_batch_log import MicroBatch, StreamOffsets


class MicroBatchPlanner:
    """Reads the manifests of all streams of an output."""

    def __init__(
        self,
        due: Due,
        options: Mapping[str, SourceOptions],
        after_ms: int | None = None,
        done: tuple[MicroBatch, StreamOffsets] | None = None,
    ) -> None:
        """`options`: the source's, by stream. A new checkpoint has no window up to `after_ms`.

        `done`: the last micro-batch of an earlier run, and what it has let go, which retention
        may have by now.
        """
        self._after_ms = after_ms
        self._due = due
        self._options = options
        self._spools = {name: Spools(each) for name, each in options.items()}
        self._pace = LookPace()
        self._last_let_go = done
        self._end: StreamOffsets | None = None
        self._first: StreamOffsets | None = None
        """Where a new checkpoint begins: by now `latest` would be somewhere else."""

    def freeze(self) -> None:
        """What is there now is all there is."""
        for spools in self._spools.values():
            spools.freeze()

    def next(self, last: MicroBatch | None) -> MicroBatch | None:
        """What is to be done after the last micro-batch; None: nothing closes yet.

        Of what is listed by now: some of many hosts always say something meanwhile.
        """
        if self._end is None:
            self._end = self._beginning() if last is None else last.end
            self._first = self._end
        with self._pace.look():
            for name, spools in self._spools.items():
                spools.refresh(self._end[name])
            return self._next(last, self._end)

    def _next(self, last: MicroBatch | None, before: StreamOffsets) -> MicroBatch | None:
        while True:
            self._end = self._read_on(before)
            found = self._closing(last, self._end)
            if found is not None:
                return found
            if self._end == before:
                self._check_goes_on(self._end)
                return None
            before = self._end

    def slices(self, batch: MicroBatch) -> dict[str, list[Slice]]:
        """By stream, the segments among which the rows of a micro-batch are."""
        since = self._due.needed_from(batch.after_ms)
        return {
            stream.name: self._slices(stream, batch, since[stream.name])
            for stream in self._due.streams
        }

    def lags(self, batch: MicroBatch) -> tuple[TrackLag, ...]:
        """How far a micro-batch is behind what had been listed when the manifests were last read.

        What is listed and not answered lies in windows that are open.
        """
        let_go, reached = self.let_go(batch), self._end or batch.end
        several = len(self._spools) > 1
        found = (
            lags(let_go[name], reached[name], f"{name} on " if several else "")
            for name in sorted(self._spools)
        )
        return tuple(each for tracks in found for each in tracks)

    def reached(self, batch: MicroBatch) -> dict[str, Reached]:
        """By stream, how far all is done once a micro-batch is."""
        let_go = self.let_go(batch)
        return {n: Reached(let_go[n], batch.unread.get(n, {})) for n in self._spools}

    def commit(self, batch: MicroBatch) -> None:
        """The rows of a micro-batch are with the sink: retention may have what is let go."""
        let_go = self.let_go(batch)
        for name, spools in self._spools.items():
            spools.commit(let_go[name])

    def let_go(self, batch: MicroBatch) -> StreamOffsets:
        """Below are no rows that anything behind a micro-batch needs.

        Found once: with the commit the segments are forgotten by which it is found, and to know
        them again all manifests would be read from their beginning.
        """
        if self._last_let_go is None or self._last_let_go[0] is not batch:
            self._last_let_go = batch, self._held(batch.held, batch.end, batch.until_ms)
        return self._last_let_go[1]

    def _check_goes_on(self, end: StreamOffsets) -> None:
        """Raise SourceError where more was written, with which this query cannot go on."""
        for name, spools in self._spools.items():
            reason = spools.why_not(end[name])
            if reason is not None:
                raise reason

    def _closing(self, last: MicroBatch | None, end: StreamOffsets) -> MicroBatch | None:
        after_ms, until_ms = self._after_ms if last is None else last.until_ms, _reached_ms(end)
        if until_ms is None or (after_ms is not None and until_ms <= after_ms):
            return None
        if not self._due.closes(after_ms, until_ms):
            return None
        if last is None:
            first = self._first or end
            unread = self._not_needed(first, end, after_ms)
            return MicroBatch(0, first, end, after_ms, until_ms, unread=unread)
        late, unread = self._late(last, end)
        held = self._held(self.let_go(last), end, after_ms)
        return MicroBatch(last.number + 1, held, end, after_ms, until_ms, late, unread)

    def _not_needed(
        self, first: StreamOffsets, end: StreamOffsets, after_ms: int | None
    ) -> dict[str, dict[str, int]]:
        """Rows of segments in which there is nothing behind the point of a new checkpoint."""
        since = self._due.needed_from(after_ms)
        unread: dict[str, dict[str, int]] = {}
        for stream in self._due.streams:
            spools, of_stream = self._spools[stream.name], unread.setdefault(stream.name, {})
            for reading, entries in spools.between(first[stream.name], end[stream.name]):
                rows = sum(e.rows for e in entries if not self._is_needed(stream, e, since))
                if rows:
                    key = spools.key(reading)
                    of_stream[key] = of_stream.get(key, 0) + rows
        return unread

    def _is_needed(self, stream: LowNode, entry: Entry, since: Mapping[str, int]) -> bool:
        return self._due.has_rows_from(stream, entry, since[stream.name])

    def _late(self, last: MicroBatch, end: StreamOffsets) -> tuple[int, dict[str, dict[str, int]]]:
        """Rows of windows that the last micro-batch has answered, which have come since."""
        since, late = self._due.needed_from(last.until_ms), last.late
        unread = {name: dict(by_key) for name, by_key in last.unread.items()}
        for stream in self._due.streams:
            spools, of_stream = self._spools[stream.name], unread.setdefault(stream.name, {})
            for reading, entries in spools.between(last.end[stream.name], end[stream.name]):
                found = late_rows(self._due, stream, reading, entries, since[stream.name])
                late, key = late + found.rows, spools.key(reading)
                if found.unread:
                    of_stream[key] = of_stream.get(key, 0) + found.unread
        return late, unread

    def _beginning(self) -> StreamOffsets:
        for spools in self._spools.values():
            spools.refresh({})
        return {name: spools.beginning() for name, spools in self._spools.items()}

    def _read_on(self, before: StreamOffsets) -> StreamOffsets:
        return {
            name: self._admitted(name, spools, before[name])
            for name, spools in self._spools.items()
        }

    def _admitted(self, name: str, spools: Spools, before: Offsets) -> Offsets:
        positions = spools.with_new(before)
        end = admit(positions, spools.indexes(positions), self._options[name].limits)
        return spools.past_silences(end)

    def _held(self, held: StreamOffsets, end: StreamOffsets, after_ms: int | None) -> StreamOffsets:
        """Below are no rows of what closes after a punctuation."""
        since = self._due.needed_from(after_ms)
        return {
            stream.name: self._held_of(stream, held, end, since[stream.name])
            for stream in self._due.streams
        }

    def _held_of(
        self, stream: LowNode, held: StreamOffsets, end: StreamOffsets, since_ns: int
    ) -> Offsets:
        found: dict[str, Position] = {}
        spools = self._spools[stream.name]
        for reading, entries in spools.between(held[stream.name], end[stream.name]):
            needed = (e for e in entries if self._due.has_rows_from(stream, e, since_ns))
            first, key = next(needed, None), spools.key(reading)
            if key not in found and first is not None and first.segment is not None:
                generation = reading.track.generation
                reached_ns = end[stream.name][key].heartbeat_ns
                found[key] = Position(generation, first.segment, reached_ns)
        return {**end[stream.name], **found}

    def _slices(self, stream: LowNode, batch: MicroBatch, since_ns: int) -> list[Slice]:
        def is_wanted(entry: Entry) -> bool:
            return self._due.has_rows(stream, entry, since_ns, batch.until_ms)

        between = self._spools[stream.name].between(batch.held[stream.name], batch.end[stream.name])
        wanted = ((reading, list(filter(is_wanted, entries))) for reading, entries in between)
        return [reading.slice_of(entries) for reading, entries in wanted if entries]


def _reached_ms(end: StreamOffsets) -> int | None:
    """The punctuation of all tracks of all streams."""
    positions: dict[str, Position] = {}
    for name, offsets in end.items():
        positions |= {f"{name}/{key}": position for key, position in offsets.items()}
    return heartbeat_ms(positions)
