# SPDX-License-Identifier: Apache-2.0
"""The job that is measured: one high level over one of two sources, into nothing."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from made import PLAN, STREAM
from pyspark.sql import Observation
from pyspark.sql import functions as F

from spark_sink.dataframes import dataframe
from spark_sink.run import Streams
from spark_sink.session import make_session, session_settings
from spark_sink.window_complete.query import SpoolQuery, WindowCompleteQuery

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from gigastream.plan import Plan


def session(state: str = "memory") -> SparkSession:
    """Our own session; its state store changes with every call."""
    found = make_session(state=state)
    for name in ("providerClass", "rocksdb.changelogCheckpointing.enabled"):
        found.conf.unset(f"spark.sql.streaming.stateStore.{name}")
    for name, value in session_settings(2, state).items():
        if "stateStore" in name:
            found.conf.set(name, value)
    return found


def from_spool(
    spark: SparkSession,
    folder: Path,
    options: Mapping[str, str] | None = None,
    plan: Plan = PLAN,
) -> DataFrame:
    """The query over a spool."""
    streams = Streams(spark, [str(folder)], options or {})
    return dataframe(plan, plan.outputs[0], streams)


def from_parquet(spark: SparkSession, folder: Path) -> DataFrame:
    """The same query over the same rows as Parquet, through Spark's own source."""
    rows = spark.readStream.schema(spark.read.parquet(str(folder)).schema).parquet(str(folder))
    names = [column.name for column in STREAM.schema.columns]
    return dataframe(PLAN, PLAN.outputs[0], lambda node, columns: rows.select("_hb", *names))


def write_parquet(spark: SparkSession, spool: Path, folder: Path, files: int) -> None:
    """A spool's rows as Parquet, with the heartbeat that ends them."""
    read = (
        spark.read.format("gigastream")
        .options(timestamps="nanoseconds", unsigned="bits", strings="bytes", addresses="bytes")
        .load(str(spool))
    )
    end = read.limit(1).select(
        F.lit("9999-12-31 00:00:00").cast("timestamp").alias("_hb"),
        *(F.lit(None).cast(field.dataType).alias(field.name) for field in read.schema[1:]),
    )
    read.where("_hb is null").repartition(files).write.parquet(str(folder))
    end.coalesce(1).write.mode("append").parquet(str(folder))


def seconds_of(rows: DataFrame) -> tuple[float, int]:
    """How long a job takes over all that there is, and how many rows it gives."""
    with tempfile.TemporaryDirectory() as checkpoint:
        started = time.monotonic()
        query = (
            rows.writeStream.format("noop")
            .option("checkpointLocation", checkpoint)
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        return time.monotonic() - started, _rows_out(query.recentProgress)


def whole_windows_s(spark: SparkSession, spool: Path, plan: Plan) -> tuple[float, int]:
    """The same of a job in window-complete micro-batches, as `gigastream spark` has it."""
    with tempfile.TemporaryDirectory() as checkpoint:
        started, sink = time.monotonic(), Nothing()
        asked = SpoolQuery("query", plan, plan.outputs[0], Streams(spark, [str(spool)]), checkpoint)
        query = WindowCompleteQuery(asked, sink, {"availableNow": True}).start()
        query.finish()
        query.check()
        return time.monotonic() - started, sink.written


class Nothing:
    """Takes rows as Spark's `noop` does, and counts them."""

    def __init__(self) -> None:
        self.error: BaseException | None = None
        self.written = 0

    def write(self, rows: DataFrame, _number: int, /) -> None:
        """Take those of a micro-batch."""
        counted = Observation()
        seen = rows.observe(counted, F.count(F.lit(1)).alias("rows"))
        seen.write.format("noop").mode("overwrite").save()
        self.written += counted.get["rows"]


def _rows_out(progress: list[object]) -> int:
    return sum(p.sink.numOutputRows for p in progress)  # type: ignore[attr-defined]
