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
from spark_sink.look_pace import LookPace
from spark_sink.offsets import (
    from_json,
    heartbeat_between,
    heartbeat_ms,
    heartbeat_of,
    returns,
    to_json,
)
from spark_sink.options import SourceOptions, parse
from spark_sink.segments import Slice, cut, read
from spark_sink.spools import Spools
from spark_sink.stream_columns import check_schema, stream_columns
from spark_sink.table_options import keep_options, table_options, with_kept_options


class GigastreamSource(DataSource):
    r"""The rows that a low level has written into a spool.

        rows = (
            spark.readStream.format("gigastream")
            .option("stream", "talkers_low")
            .load("/var/spool/gigastream")
        )

    Its first column, `_hb`, is null in every row; a row that has it is a heartbeat, null in every
    other column: "no later row's packet has a timestamp below". Beside a column of that name it is
    `_hb_`. The rest are the stream's columns, or those named by `columns`, in Spark's types: ullong
    is decimal(20,0), ushort and uint the next larger integer, strings and addresses are text. A
    byte that is not UTF-8 is the text \xHH.
    As a table it keeps its options; DROP TABLE leaves the spool as it is:

        CREATE TABLE low USING gigastream OPTIONS (stream 'talkers_low') LOCATION '/var/spool/gs'

    Options
    - path, or paths (a JSON list): the spools, also grpc+tls://HOST:PORT/NAME of `gigastream serve`
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
    - strings: text (default), or bytes (binary, with every byte as it was)
    - addresses: text (default), or bytes (a bigint of IPv4, else 16 bytes): spark_sink.ip_text
      makes text of them
    - onDamage: fail (default), or skip: what is damaged is left out and named on the stderr of the
      worker that met it, which is in Spark's log; `gigastream spark` hands that on
    - damageLog: a folder in which each segment that was left out is a file, with its rows
    - reader: a name under which retention waits for this query
    - idleAfterSeconds: after which time goes on without an interface that says nothing, which is
      told; its rows that come later may be too late. Without it, it is waited for
    - onIdle: go-on (default), or end: the query fails then
    - tokenFile, caFile: files, there on every host that reads, of the token that servers want
      (without it the variable GIGASTREAM_TOKEN is taken), and of the authorities that are believed
    - segments: what a job of window-complete micro-batches reads; it knows how to say it
    - heartbeats: false leaves them out, and nothing that waits for time ever ends
    """

    @classmethod
    def name(cls) -> str:
        return "gigastream"

    def schema(self) -> Any:
        of_table = table_options(self.options)
        options = parse(self.options if of_table is None else of_table)
        schema = spark_types.spark_schema(stream_columns(options), options.inside)
        return schema if of_table is None else keep_options(schema, of_table)

    def reader(self, schema: Any) -> SpoolReader:
        return SpoolReader(parse(with_kept_options(schema, self.options)), schema)

    def streamReader(self, schema: Any) -> SpoolStreamReader:  # noqa: N802
        return SpoolStreamReader(parse(with_kept_options(schema, self.options)), schema)


class _Rows:
    """What the batch reader and the streaming reader share: parts, and what tasks make of them."""

    def __init__(self, options: SourceOptions, schema: Any) -> None:
        self._options = options
        self._types = _checked_types(options, schema)
        self._schema = spark_types.arrow_schema(schema)

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
        for batch in read(piece, columns, self._options):
            yield spark_types.to_spark(batch, self._schema, self._types)


class SpoolReader(_Rows, DataSourceReader):
    """`spark.read`: what the spool holds when the query begins, without heartbeats."""

    def partitions(self) -> list[InputPartition]:
        if self._options.segments is not None:
            return [_partition(part, None) for part in self._options.segments]
        spools = Spools(self._options)
        spools.freeze()
        positions = spools.beginning()
        slices = []
        while True:
            end = admit(positions, spools.indexes(positions), Limits())
            slices += _slices(spools, positions, end)
            positions = spools.gone_on(end)
            if positions == end:
                return self._parts(slices, None)


class SpoolStreamReader(_Rows, DataSourceStreamReader, SupportsTriggerAvailableNow):
    """`spark.readStream`. Spark keeps one on the driver, and makes one for every task's `read`.

    A query that has come back to its checkpoint begins with a micro-batch that repeats the last
    heartbeat, if there is no news. Spark lets groups that the watermark has passed leave in a
    micro-batch behind the one that moved it, but not in the first one after a start: killed between
    the two, a query whose spool has ended would keep its last windows for ever.
    """

    def __init__(self, options: SourceOptions, schema: Any) -> None:
        super().__init__(options, schema)
        self._spools = Spools(options)
        self._pace = LookPace()
        self._is_back = True
        self._has_said_farewell = False

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
        with self._pace.look():
            return self._end(start, Limits() if is_unlimited else self._options.limits)

    def reportLatestOffset(self) -> dict[str, Any]:  # noqa: N802
        """Everything that is known, for the lag in Spark's progress report.

        Spark asks behind every `latestOffset`, which has just looked.
        """
        return to_json(self._spools.newest())

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        self._spools.freeze()

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        wanted = heartbeat_of(start, end) if self._options.heartbeats else None
        return self._parts(_slices(self._spools, from_json(start), from_json(end)), wanted)

    def commit(self, end: dict[str, Any]) -> None:
        self._spools.commit(from_json(end))

    def _end(self, start: dict[str, Any], limits: Limits) -> dict[str, Any]:
        before = from_json(start)
        self._spools.refresh(before)
        positions = self._spools.with_new(before)
        after = admit(positions, self._spools.indexes(positions), limits)
        after = self._spools.past_silences(after)
        # Punctuation of some tracks that moves no heartbeat is not worth a micro-batch.
        has_segments = any(positions[key].segment < after[key].segment for key in after)
        is_back, self._is_back = self._is_back and heartbeat_ms(before) is not None, False
        repeats = is_back or self._says_farewell(positions, is_back=is_back)
        is_news = has_segments or repeats or heartbeat_between(before, after) is not None
        return to_json(after, returns(start) + repeats) if is_news else start

    def _says_farewell(self, positions: Any, *, is_back: bool) -> bool:
        """Whether this is the last micro-batch of a query that cannot go on: the next one fails."""
        reason = self._spools.why_not(positions)
        if reason is not None and self._has_said_farewell:
            raise reason
        self._has_said_farewell = reason is not None and not is_back
        return self._has_said_farewell


def _checked_types(options: SourceOptions, schema: Any) -> dict[str, str]:
    """By column, the type of GSQL; raises SourceError if the schema is not the stream's.

    Who names segments knows the stream, and takes values as they are inside: nothing is looked up.
    """
    if options.segments is not None:
        return {}
    columns = stream_columns(options)
    check_schema(schema, spark_types.spark_schema(columns, options.inside))
    return {column["name"]: column["type"] for column in columns}


def _partition(part: Sequence[Slice], heartbeat: int | None) -> InputPartition:
    """Plain values, so that a task needs nothing of ours to unpack them."""
    return InputPartition(([piece.to_values() for piece in part], heartbeat))


def _slices(spools: Spools, start: Any, end: Any) -> list[Slice]:
    return [reading.slice_of(entries) for reading, entries in spools.between(start, end) if entries]
