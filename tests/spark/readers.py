# SPDX-License-Identifier: Apache-2.0
"""The streaming reader without Spark: asked what Spark would ask it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql.types import StructType
from spark.written import START_S, Rows

from spark_sink import spark_types
from spark_sink.options import SourceOptions, parse
from spark_sink.source import SpoolReader, SpoolStreamReader
from spark_sink.stream_columns import stream_columns


def packets(*offsets_s: int) -> Rows:
    """A packet at each second after the start, ten bytes each, from 192.0.2.1."""
    return [(START_S + offset_s, 0xC0000201, 10) for offset_s in offsets_s]


def reader_of(*roots: Path, **options: str) -> SpoolStreamReader:
    """A reader of one spool or several, as a new process would make it."""
    return SpoolStreamReader(*_asked(roots, options))


def batch_reader_of(*roots: Path, **options: str) -> SpoolReader:
    """The same for a batch."""
    return SpoolReader(*_asked(roots, options))


def _asked(roots: Sequence[Path], options: Mapping[str, str]) -> tuple[SourceOptions, StructType]:
    asked = {"addresses": "bytes", **options}
    parsed = parse({"paths": json.dumps([str(root) for root in roots]), **asked})
    return parsed, spark_types.spark_schema(stream_columns(parsed), parsed.inside)


def contents(reader: SpoolStreamReader, start: Any, end: Any) -> tuple[list[Any], list[int]]:
    """The rows of a micro-batch, and its heartbeats in milliseconds."""
    rows: list[Any] = []
    heartbeats: list[int] = []
    for partition in reader.partitions(start, end):
        for batch in reader.read(partition):
            for row in batch.cast(_with_plain_heartbeat(batch.schema)).to_pylist():
                heartbeat = row.pop("_hb")
                if heartbeat is None:
                    rows.append(tuple(row.values()))
                else:
                    heartbeats.append(heartbeat // 1000)
    return rows, heartbeats


def _with_plain_heartbeat(schema: pa.Schema) -> pa.Schema:
    return schema.set(0, pa.field("_hb", pa.int64()))


def micro_batches(reader: SpoolStreamReader) -> Iterator[tuple[Any, Any]]:
    """The offsets that Spark would go through until nothing is new, as checkpoints keep them."""
    start = reader.initialOffset()
    while (end := reader.latestOffset(start, reader.getDefaultReadLimit())) != start:
        yield json.loads(json.dumps(start)), json.loads(json.dumps(end))
        start = end
