# SPDX-License-Identifier: Apache-2.0
"""Parquet in whole windows: Spark's file sink lists each micro-batch once, whatever comes again."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark")

from spark_command import written
from spark_command.test_job import here, options, run
from spark_command.written import SETS, answered_here

from spark_sink.file_sink import SparkFileSink
from spark_sink.job_errors import JobError
from spark_sink.window_complete.query import WindowCompleteQuery
from tests.answers.engine import plan_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

A_SEGMENT_AT_A_TIME = {"maxSegmentsPerTrigger": "1"}
PER_SECOND = "SELECT tb, count(*) AS packets FROM PKT GROUP BY time AS tb"
COMPACTED_EVERY = 10
"""Spark puts its lists together then, and needs each of them."""


def counted(spark: SparkSession, folder: Path) -> list[tuple[object, ...]]:
    """What Spark's own reader makes of the folder."""
    return sorted(tuple(row) for row in spark.read.parquet(str(folder)).collect())


@pytest.mark.long
def test_a_micro_batch_that_comes_again_is_left_out(spark: SparkSession, tmp_path: Path) -> None:
    (output,) = plan_of(PER_SECOND).outputs
    rows = spark.range(0).selectExpr("id AS tb", "id AS packets")
    wanted = []
    for number in range(2 * COMPACTED_EVERY + 3):
        # another process each time, and all of every third is empty
        sink = SparkFileSink(spark, str(tmp_path / "rows"), output.schema, {})
        count = 0 if number % 3 == 2 else 2
        made = spark.range(count).selectExpr(f"{number} AS tb", "id AS packets")
        for _ in range(2):
            sink.write(made if count else rows, number)
        wanted += [(number, each) for each in range(count)]
    assert counted(spark, tmp_path / "rows") == sorted(wanted)


@pytest.mark.long
def test_a_job_writes_files_in_whole_windows_if_asked(spark: SparkSession, tmp_path: Path) -> None:
    spool = written.spool(tmp_path / "spool", SETS)
    asked = options(spool, tmp_path / "checkpoint", f"parquet:{tmp_path}/rows", state="spool")
    for _ in range(2):
        kinds = {each.name.split()[0]: type(each) for each in run(asked).running}
        assert kinds["talkers"] is WindowCompleteQuery
        assert kinds["resets"] is not WindowCompleteQuery, "what waits for nothing streams"
        for query in ("talkers", "resets"):
            found = written.in_order(
                {key: written.plain(value) for key, value in row.asDict().items()}
                for row in spark.read.parquet(f"{tmp_path}/rows/{query}").collect()
            )
            assert found == here(query) != []
    goes_on = options(spool, tmp_path / "checkpoint", f"parquet:{tmp_path}/rows")
    assert WindowCompleteQuery in {type(each) for each in run(goes_on).running}, "as it began"


@pytest.mark.long
@pytest.mark.parametrize("state", ["spool", None])
def test_a_folder_of_another_checkpoint_is_refused(
    state: str | None, spark: SparkSession, tmp_path: Path
) -> None:
    """Spark would leave out the first micro-batches, since their numbers are known there."""
    spool, sink = written.spool(tmp_path / "spool"), f"parquet:{tmp_path}/rows"
    run(options(spool, tmp_path / "one", sink, state=state))
    assert len(counted(spark, tmp_path / "rows")) == len(answered_here())
    with pytest.raises(JobError, match="has rows of another checkpoint"):
        run(options(spool, tmp_path / "two", sink, state=state))
    assert len(counted(spark, tmp_path / "rows")) == len(answered_here())


@pytest.mark.long
@pytest.mark.parametrize(
    ("sink", "state"), [("parquet", "spool"), ("parquet", None), ("duckdb", None)]
)
def test_an_older_copy_of_a_checkpoint_is_refused(
    sink: str, state: str | None, spark: SparkSession, tmp_path: Path
) -> None:
    """What it would make under numbers that the place of its rows knows would be left out."""
    place, checkpoint, copy = f"{sink}:{tmp_path}/rows", tmp_path / "now", tmp_path / "before"
    spool = written.spool(tmp_path / "spool", words=("--segment-rows", "10", "--disorder", "4096"))
    asked = options(spool, checkpoint, place, state=state, source_options=A_SEGMENT_AT_A_TIME)
    run(asked)
    shutil.copytree(checkpoint, copy)
    for part in ("planned", "done", "offsets", "commits"):
        for path in copy.glob(f"0-*/{part}/*"):
            if path.name.isdecimal() and int(path.name) > 0:
                path.unlink()
    run(asked)
    knows = r"micro-batch \d+ of this checkpoint, which knows of up to 0"
    with pytest.raises(JobError, match=knows):
        run(options(spool, copy, place, state=state))
