# SPDX-License-Identifier: Apache-2.0
"""Spark reads a spool: a micro-batch is whole segments, and the heartbeat that they brought.

What a micro-batch contains is a function of its offsets alone, so one that is run again after a
failure gives the same rows and moves the watermark alike.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    InputPartition,
)
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxBytes,
    ReadMaxFiles,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)

from spark_sink import spark_types
from spark_sink.admission import Limits, admit
from spark_sink.offsets import from_json, heartbeat_between, heartbeat_ms, returns, to_json
from spark_sink.options import SourceOptions, parse
from spark_sink.segments import Slice, cut, read
from spark_sink.spools import Spools
from spark_sink.stream_columns import stream_columns


class GigastreamSource(DataSource):
    """The rows that a low level has written into a spool.

        rows = (
            spark.readStream.format("gigastream")
            .option("stream", "talkers_low")
            .load("/var/spool/gigastream")
        )

    Its first column, `_hb`, is null in every row; a row that has it is a heartbeat, null in every
    other column: "no later row's packet has a timestamp below". The rest are the stream's columns,
    or those named by `columns`, in Spark's types: ullong is decimal(20,0), ushort and uint the next
    larger integer, a string and a long address binary, an IPv4 address bigint.

    Options
    - path, or paths (a JSON list): the spools
    - stream: needed where a spool holds several
    - interfaces: those to wait for; otherwise all that there are, as they appear
    - columns: the names needed (`a,b` or a JSON list); the others are not read
    - startingAt: earliest (default), latest, or the number of a segment
    - generation: another than the newest
    - maxRowsPerTrigger, maxSegmentsPerTrigger, maxBytesPerTrigger: at most so much in a
      micro-batch, but a whole segment at least
    - partitions: tasks for a micro-batch (default: the driver's cores)
    - timestamps: microseconds (default; a timestamp), or nanoseconds (a bigint)
    - unsigned: decimal (default; an ullong is a decimal(20,0)), or bits (a bigint, negative from
      2^63 on, of which spark_sink.unsigned makes the decimal): much less work for Spark
    - onDamage: skip (default; a damaged segment is named on stderr), or fail
    - reader: a name under which retention waits for this query
    - segments: what a job of window-complete micro-batches reads; it knows how to say it
    - heartbeats: false leaves them out, and nothing that waits for time ever ends
    """

    @classmethod
    def name(cls) -> str:
        return "gigastream"

    def schema(self) -> Any:
        options = parse(self.options)
        return spark_types.spark_schema(stream_columns(options), options.as_bigint)

    def reader(self, schema: Any) -> SpoolReader:
        return SpoolReader(parse(self.options), spark_types.arrow_schema(schema))

    def streamReader(self, schema: Any) -> SpoolStreamReader:  # noqa: N802
        return SpoolStreamReader(parse(self.options), spark_types.arrow_schema(schema))


class _Rows:
    """What the batch reader and the streaming reader share: parts, and what tasks make of them."""

    def __init__(self, options: SourceOptions, schema: pa.Schema) -> None:
        self._options = options
        self._schema = schema

    def _parts(self, slices: Sequence[Slice], heartbeat: int | None) -> list[InputPartition]:
        """The heartbeat travels with the last part: one of its own would cost a task."""
        parts = cut(slices, self._options.partitions or os.cpu_count() or 1)
        heartbeats: list[int | None] = [None] * len(parts)
        if heartbeat is not None:
            parts, heartbeats = parts or [[]], [*heartbeats[1:], heartbeat]
        return list(map(_partition, parts, heartbeats))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        # of no parts Spark makes one, of nothing
        values, heartbeat = partition.value or ((), None)
        for value in values:
            yield from self._rows(Slice.from_values(value))
        if heartbeat is not None:
            yield spark_types.heartbeat(heartbeat, self._schema)

    def _rows(self, piece: Slice) -> Iterator[pa.RecordBatch]:
        columns = self._schema.names[1:]
        for batch in read(piece, columns, fails_on_damage=self._options.fails_on_damage):
            yield spark_types.to_spark(batch, self._schema)


class SpoolReader(_Rows, DataSourceReader):
    """`spark.read`: what the spool holds when the query begins, without heartbeats."""

    def partitions(self) -> list[InputPartition]:
        if self._options.segments is not None:
            return [_partition(part, None) for part in self._options.segments]
        spools = Spools(self._options)
        spools.refresh({})
        start = spools.beginning()
        return self._parts(_slices(spools, start, admit(start, spools.indexes, Limits())), None)


class SpoolStreamReader(_Rows, DataSourceStreamReader, SupportsTriggerAvailableNow):
    """`spark.readStream`. Spark keeps one on the driver, and makes one for every task's `read`.

    A query that has come back to its checkpoint begins with a micro-batch that repeats the last
    heartbeat, if there is no news. Spark lets groups that the watermark has passed leave in a
    micro-batch behind the one that moved it, but not in the first one after a start: killed between
    the two, a query whose spool has ended would keep its last windows for ever.
    """

    def __init__(self, options: SourceOptions, schema: pa.Schema) -> None:
        super().__init__(options, schema)
        self._spools = Spools(options)
        self._is_back = True

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        self._is_back = False  # Spark asks only where there is no checkpoint yet
        self._spools.refresh({})
        return to_json(self._spools.beginning())

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """One of the limits: that there is any tells `latestOffset` to keep them all."""
        limits = self._options.limits
        if limits.rows is not None:
            return ReadMaxRows(limits.rows)
        if limits.segments is not None:
            return ReadMaxFiles(limits.segments)
        if limits.size_bytes is not None:
            return ReadMaxBytes(limits.size_bytes)
        return ReadAllAvailable()

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802
        is_unlimited = isinstance(limit, ReadAllAvailable)
        return self._end(start, Limits() if is_unlimited else self._options.limits)

    def reportLatestOffset(self) -> dict[str, Any]:  # noqa: N802
        """Everything that is known, for the lag in Spark's progress report."""
        self._spools.refresh({})
        return to_json(admit(self._spools.beginning(), self._spools.indexes, Limits()))

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        self._spools.freeze()

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        before, after = from_json(start), from_json(end)
        is_back = returns(start) < returns(end)
        heartbeat = heartbeat_ms(after) if is_back else heartbeat_between(before, after)
        wanted = heartbeat if self._options.heartbeats else None
        return self._parts(_slices(self._spools, before, after), wanted)

    def commit(self, end: dict[str, Any]) -> None:
        self._spools.commit(from_json(end))

    def _end(self, start: dict[str, Any], limits: Limits) -> dict[str, Any]:
        before = from_json(start)
        self._spools.refresh(before)
        after = admit(self._spools.with_new(before), self._spools.indexes, limits)
        # Punctuation of some tracks that moves no heartbeat is not worth a micro-batch.
        has_segments = any(_segment(before, key) < after[key].segment for key in after)
        is_back, self._is_back = self._is_back and heartbeat_ms(before) is not None, False
        is_news = has_segments or is_back or heartbeat_between(before, after) is not None
        return to_json(after, returns(start) + is_back) if is_news else start


def _partition(part: Sequence[Slice], heartbeat: int | None) -> InputPartition:
    """Plain values, so that a task needs nothing of ours to unpack them."""
    return InputPartition(([piece.to_values() for piece in part], heartbeat))


def _segment(offsets: Any, key: str) -> int:
    position = offsets.get(key)
    return 0 if position is None else position.segment


def _slices(spools: Spools, start: Any, end: Any) -> list[Slice]:
    return [reading.slice_of(entries) for reading, entries in spools.between(start, end) if entries]
