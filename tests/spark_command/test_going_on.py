# SPDX-License-Identifier: Apache-2.0
"""Who has the DataFrame of a query goes on from it by time, in Spark's own windows."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark")

from pyspark.sql import functions as F
from spark_command import written
from spark_command.written import SETS, answered_here

from spark_sink.job_errors import JobError
from spark_sink.run import run_query
from spark_sink.sinks import start

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

WINDOW_S = 600


ALL = f"{SETS}; DEFINE {{ query_name timeless; }} SELECT srcIP FROM TCP WHERE rst = 1"
"""Of minutes, of packets, and a query whose rows have no time."""


@pytest.fixture(scope="module")
def spool(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written.spool(tmp_path_factory.mktemp("spool") / "demo", ALL)


def windows(rows: DataFrame, name: str, checkpoint: Path) -> Counter[int]:
    """What a streaming job of append mode gives: by the second of its begin, a window's total."""
    totals = rows.groupBy(F.window("at", f"{WINDOW_S} seconds")).agg(F.sum("n").alias("n"))
    writer = totals.select("window.start", "n").writeStream.format("memory")
    start(writer, str(checkpoint), name, {"availableNow": True}).awaitTermination()
    found = rows.sparkSession.table(name).select(F.unix_seconds("start"), "n").collect()
    return Counter({int(second): int(n) for second, n in found})


def here(query: str, column: str, ticks_s: int, weight: str | None) -> Counter[int]:
    """The same of the engine's rows."""
    found: Counter[int] = Counter()
    for row in answered_here(ALL):
        if row["query"] == query:
            found[row[column] * ticks_s // WINDOW_S * WINDOW_S] += row[weight] if weight else 1
    return found


def test_minutes_are_put_together_in_a_stream(
    spark: SparkSession, spool: Path, tmp_path: Path
) -> None:
    """A minute's event time is within it: the last of ten is not of the next ten."""
    rows = run_query(spool, output="talkers", spark=spark, event_time="at")
    found = windows(rows.withColumnRenamed("packets", "n"), "put_together", tmp_path)
    assert found == here("talkers", "tb", 60, "packets")
    assert len(found) > 1


def test_packets_are_put_together_in_a_stream(
    spark: SparkSession, spool: Path, tmp_path: Path
) -> None:
    rows = run_query(spool, output="resets", spark=spark, event_time="at")
    found = windows(rows.withColumn("n", F.lit(1)), "of_packets", tmp_path)
    assert found == here("resets", "time", 1, None)


def test_rows_without_time_are_told(spark: SparkSession, spool: Path) -> None:
    with pytest.raises(JobError, match="the rows of timeless have no time") as refusal:
        run_query(spool, output="timeless", spark=spark, event_time="at")
    assert "temporal columns" in str(refusal.value.hint)
    with pytest.raises(JobError, match="has a column TB already"):
        run_query(spool, output="talkers", spark=spark, event_time="TB")
