# SPDX-License-Identifier: Apache-2.0
"""Spools for measuring: partial rows of count and bytes by minute, source and destination."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy
import pyarrow
import pyarrow.compute as pc

from gigastream.arrow_schema import arrow_schema
from gigastream.gsql.source import SourceFile
from gigastream.plan import Plan, plan_queries
from gigastream.plan.operators.low_node import LowNode
from gigastream.plan.to_json import to_json
from gigastream.query_texts import QueryTexts, check_texts
from gigastream.spool import END, NOTHING, SpoolSettings, SpoolWriter, StoredQuerySet, TrackWriter
from gigastream.spool.plan import queries_to_json, stream_descriptions

QUERY = """
SELECT tb, srcIP, destIP, count(*) AS packets, sum(len) AS bytes
FROM {protocol} GROUP BY time/60 AS tb, srcIP, destIP
"""
INTERFACE = "eth0"
FIRST_MINUTE = 29_000_000
COLUMNS = 5


@dataclass(frozen=True)
class Question:
    """A query, and the stream below it."""

    texts: QueryTexts
    plan: Plan

    @property
    def stream(self) -> LowNode:
        return self.plan.low[0]


def question(protocol: str) -> Question:
    """Who talked to whom, minute by minute: of IPV4 numbers, of IP addresses of both families."""
    source = SourceFile("query", QUERY.format(protocol=protocol))
    texts = QueryTexts((source,), interfaces={INTERFACE: {}})
    return Question(texts, plan_queries(check_texts(texts).queries))


IPV4 = question("IPV4")
PLAN, STREAM = IPV4.plan, IPV4.stream


@dataclass(frozen=True)
class Shape:
    """How much there is of what."""

    rows: int
    groups: int
    """Of a minute."""
    minutes: int = 10
    segment_rows: int = 1 << 18
    batch_rows: int = 1 << 14


def write_spool(
    folder: Path, shape: Shape, heartbeats_per_minute: int = 1, asked: Question = IPV4
) -> None:
    """Write a finished spool of that shape."""
    with SpoolWriter(folder, SpoolSettings(segment_rows=shape.segment_rows)) as writer:
        track = open_track(writer, asked)
        sequence = 0
        for minute in range(FIRST_MINUTE, FIRST_MINUTE + shape.minutes):
            for rows in rows_of(shape, minute, asked):
                write(track, rows, minute * 60, sequence := sequence + 1)
            for beat in range(heartbeats_per_minute):
                second = minute * 60 + (beat + 1) * 60 // heartbeats_per_minute
                write(track, None, second, sequence := sequence + 1)
        end = (END, *(NOTHING,) * (COLUMNS - 1))
        track.write(None, end, END, sequence + 1, is_end=True)


def open_track(writer: SpoolWriter, asked: Question = IPV4) -> TrackWriter:
    """Open the query's only stream."""
    plan = asked.plan
    query_set = StoredQuerySet(
        to_json(plan), queries_to_json(asked.texts), stream_descriptions(plan)
    )
    port = asked.stream.name, INTERFACE
    return writer.open(query_set, [port])[port]


def write(track: TrackWriter, rows: pyarrow.RecordBatch | None, second: int, number: int) -> None:
    """Write rows, and that no later packet is before a second."""
    bounds = (second // 60, *(NOTHING,) * (COLUMNS - 1))
    track.write(rows, bounds, second * 10**9, number)


def rows_of(shape: Shape, minute: int, asked: Question = IPV4) -> Iterator[pyarrow.RecordBatch]:
    """The partial rows of a minute, in batches as the engine makes them."""
    left = shape.rows // shape.minutes
    while left > 0:
        count = min(left, shape.batch_rows)
        yield _batch(count, shape.groups, minute, asked.stream)
        left -= count


def _batch(count: int, groups: int, minute: int, stream: LowNode) -> pyarrow.RecordBatch:
    group = _whole(count, groups)
    packets = pc.add(_whole(count, 20), 1)
    columns = {
        "tb": pyarrow.repeat(minute, count),
        "srcIP": pc.add(group, 0x0A000000),
        "destIP": pc.bit_wise_and(pc.multiply(group, 2654435761), 0xFFFFFFFF),
        "packets": packets,
        "bytes": pc.multiply(packets, 400),
    }
    schema = arrow_schema(stream.schema)
    arrays = [
        _typed(array, field.type) for array, field in zip(columns.values(), schema, strict=True)
    ]
    return pyarrow.RecordBatch.from_arrays(arrays, schema=schema)


def _typed(numbers: pyarrow.Array, wanted: pyarrow.DataType) -> pyarrow.Array:
    """Of sixteen bytes every fourth number is an address of IPv6."""
    if wanted != pyarrow.binary(16):
        return numbers.cast(wanted)
    words = numpy.zeros((len(numbers), 4), ">u4")
    words[:, 2], words[:, 3] = 0xFFFF, numbers.to_numpy()
    six = words[:, 3] % 4 == 0
    words[six, 0], words[six, 2] = 0x20010DB8, 0
    return pyarrow.FixedSizeBinaryArray.from_buffers(
        wanted, len(numbers), [None, pyarrow.py_buffer(words.tobytes())]
    )


def _whole(count: int, below: int) -> pyarrow.Array:
    return pc.floor(pc.multiply(pc.random(count), below)).cast(pyarrow.int64())
