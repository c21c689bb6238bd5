# SPDX-License-Identifier: Apache-2.0
"""A join of two streams: a spool's under heartbeats, Spark's own over Parquet with a watermark.

Each step has the rows of a second of both streams on two links. Where one link is behind, so are
its rows: the heartbeats of a spool wait for it, a watermark that follows the latest row does not.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import pyarrow
import pyarrow.compute as pc
import pyarrow.parquet
from jobs import from_spool, seconds_of, session, whole_windows_s
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from report import Figure

from gigastream.arrow_schema import arrow_schema
from gigastream.gsql.source import SourceFile
from gigastream.plan import plan_queries
from gigastream.plan.operators.low_node import LowNode
from gigastream.plan.to_json import to_json
from gigastream.query_texts import QueryTexts, check_texts
from gigastream.spool import END, NOTHING, SpoolSettings, SpoolWriter, StoredQuerySet
from gigastream.spool.plan import queries_to_json, stream_descriptions

TITLE = "A join of two streams, 5 s to answer"
REACH_S = 5
QUERY = f"""SELECT a.time, a.srcIP, a.len, b.len AS answered FROM IPV4 a, IPV4 b
    WHERE a.protocol = 6 AND b.protocol = 17 AND a.srcIP = b.srcIP
    AND b.time >= a.time AND b.time <= a.time + {REACH_S}"""
LINKS = ("eth0", "eth1")
FIRST_S = 1_740_000_000
STEPS = 100
STEPS_PER_BATCH = 20
HOSTS = 100_000
BEHIND_S = 60
TEXTS = QueryTexts((SourceFile("query", QUERY),), interfaces={link: {} for link in LINKS})
PLAN = plan_queries(check_texts(TEXTS).queries)


Way = Callable[[SparkSession], tuple[float, int]]
"""Seconds, and rows."""


@dataclass(frozen=True)
class Shape:
    """How many rows a stream has, and how far its second link is behind."""

    rows: int
    behind_s: int

    @property
    def step_rows(self) -> int:
        """Of one link."""
        return self.rows // STEPS // len(LINKS)


def ask(folder: Path, rows: int, runs: int) -> list[Figure]:
    """The figures."""
    shape = Shape(rows // 5, 0)
    spool, parquet = _written(folder, shape)
    ways = {
        "Parquet": lambda spark: seconds_of(_of_parquet(spark, parquet)),
        "spool, state store": lambda spark: seconds_of(_of_spool(spark, spool)),
        "spool, whole windows": lambda spark: whole_windows_s(spark, spool, PLAN),
    }
    return [*_in_step(ways, shape, runs), *_late(folder, Shape(rows // 20, BEHIND_S))]


def _in_step(ways: dict[str, Way], shape: Shape, runs: int) -> list[Figure]:
    spark, what = session(), "links in step"
    taken: dict[str, list[float]] = {way: [] for way in ways}
    for run in range(runs + 1):
        found = {way: of(spark) for way, of in ways.items()}
        given = {way: rows for way, (_, rows) in found.items()}
        assert len(set(given.values())) == 1, f"they do not give the same rows: {given}"
        if run > 0:  # the first warms Java up
            for way, (seconds, _) in found.items():
                taken[way].append(seconds)
    theirs, *ours = ((way, median(seconds)) for way, seconds in taken.items())
    both = 2 * shape.rows / 1e6
    return [
        *(Figure(what, way, both / seconds, "Mrow/s") for way, seconds in (theirs, *ours)),
        *(Figure(what, f"{way} / Parquet", theirs[1] / s, "times", 0.8) for way, s in ours),
    ]


def _late(folder: Path, shape: Shape) -> list[Figure]:
    spark, (spool, parquet) = session(), _written(folder, shape)
    a, b = seconds_of(_of_spool(spark, spool))[1], seconds_of(_of_parquet(spark, parquet))[1]
    right = _joined(*(spark.read.parquet(str(parquet / s.name)) for s in PLAN.low)).count()
    what = f"a link {BEHIND_S} s behind"
    return [
        Figure(what, "spool", a / right, "of the rows", 1.0),
        Figure(what, "Parquet", b / right, "of the rows"),
    ]


# What is written


def _written(folder: Path, shape: Shape) -> tuple[Path, Path]:
    """A spool and its rows as Parquet, a file a step in the order in which they came."""
    spool = folder / f"join-spool-{shape.rows}-{shape.behind_s}"
    parquet = folder / f"join-parquet-{shape.rows}-{shape.behind_s}"
    if not parquet.exists():
        for stream in PLAN.low:
            (parquet / stream.name).mkdir(parents=True)
        with SpoolWriter(spool, SpoolSettings(segment_rows=shape.step_rows)) as writer:
            _write(writer, parquet, shape)
    return spool, parquet


def _write(writer: SpoolWriter, parquet: Path, shape: Shape) -> None:
    described = to_json(PLAN), queries_to_json(TEXTS), stream_descriptions(PLAN)
    ports = [(stream.name, link) for stream in PLAN.low for link in LINKS]
    tracks = writer.open(StoredQuerySet(*described), ports)
    for step in range(STEPS + shape.behind_s):
        for stream in PLAN.low:
            parts = []
            for link, second in zip(LINKS, (step, step - shape.behind_s), strict=True):
                if 0 <= second < STEPS:
                    parts.append(_rows(stream, shape.step_rows, FIRST_S + second))
                    bounds = _bounds(stream, FIRST_S + second + 1)
                    reached = (FIRST_S + second + 1) * 10**9
                    tracks[stream.name, link].write(parts[-1], bounds, reached, step + 1)
            if parts:
                _keep(parquet / stream.name / f"{step:04}.parquet", parts, step)
    for (name, _), track in tracks.items():
        stream = next(stream for stream in PLAN.low if stream.name == name)
        track.write(None, _bounds(stream, END), END, STEPS + shape.behind_s + 1, is_end=True)


def _keep(path: Path, parts: list[pyarrow.RecordBatch], step: int) -> None:
    """Spark's source takes files in the order of their times."""
    pyarrow.parquet.write_table(pyarrow.Table.from_batches(parts), path)
    os.utime(path, (FIRST_S + step, FIRST_S + step))


def _rows(stream: LowNode, count: int, second: int) -> pyarrow.RecordBatch:
    schema = arrow_schema(stream.schema)
    random = pc.floor(pc.multiply(pc.random(count), HOSTS))
    values = {"time": pyarrow.repeat(second, count), "srcIP": random, "len": random}
    arrays = [values[field.name].cast(field.type) for field in schema]
    return pyarrow.RecordBatch.from_arrays(arrays, schema=schema)


def _bounds(stream: LowNode, second: int) -> tuple[int, ...]:
    return tuple(second if c.name == "time" else NOTHING for c in stream.schema.columns)


# What is joined


def _of_spool(spark: SparkSession, spool: Path) -> DataFrame:
    limit = {"maxSegmentsPerTrigger": str(STEPS_PER_BATCH * len(LINKS))}
    return from_spool(spark, spool, limit, PLAN)


def _of_parquet(spark: SparkSession, parquet: Path) -> DataFrame:
    sides = []
    for stream in PLAN.low:
        folder = str(parquet / stream.name)
        read = spark.readStream.schema(spark.read.parquet(folder).schema)
        rows = read.option("maxFilesPerTrigger", STEPS_PER_BATCH).parquet(folder)
        sides.append(rows)
    return _joined(*sides)


def _joined(left: DataFrame, right: DataFrame) -> DataFrame:
    a, b = (
        rows.select(*(F.col(c).alias(f"{name}_{c}") for c in rows.columns))
        .withColumn(f"{name}_at", F.timestamp_seconds(f"{name}_time"))
        .withWatermark(f"{name}_at", "0 seconds")
        for name, rows in (("a", left), ("b", right))
    )
    reach = F.expr(f"b_at >= a_at AND b_at <= a_at + INTERVAL {REACH_S} SECONDS")
    joined = a.join(b, on=(a["a_srcIP"] == b["b_srcIP"]) & reach)
    return joined.select("a_time", "a_srcIP", "a_len", "b_len")
