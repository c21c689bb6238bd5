# SPDX-License-Identifier: Apache-2.0
"""Spark reads a spool that was shipped to S3: the engine's rows, and a commit there."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark")

from cli.command import gigastream
from shipping.s3_server import SECRET, S3Server
from spark_command.written import answered_here, parquet
from spark_command.written import spool as written_spool

from spark_sink.window_complete.small_batches import SMALL_BYTES
from tests.answers.on_spark import whole_windows_over

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.long
def test_whole_windows_are_those_of_the_folder(
    spark: SparkSession, s3: S3Server, tmp_path: Path
) -> None:
    here, there = str(written_spool(tmp_path / "spool")), s3.uri("windows")
    assert gigastream("ship", here, there).code == 0
    # by the driver: tasks have the environment that Java was started with, and no credentials
    found = whole_windows_over(spark, [there], tmp_path / "there", SMALL_BYTES)
    assert found == whole_windows_over(spark, [here], tmp_path / "here", 0) != []


@pytest.mark.long
def test_the_command_answers_what_the_engine_does(s3: S3Server, tmp_path: Path) -> None:
    there = s3.uri("spark")
    assert gigastream("ship", written_spool(tmp_path / "spool"), there).code == 0
    done = gigastream(
        *("spark", "--spool", there, "--trigger", "now", "-o", f"parquet:{tmp_path}/rows"),
        *("--checkpoint", tmp_path / "checkpoint", "--log", tmp_path / "log"),
    )
    assert done.code == 0, done.err
    assert parquet(tmp_path / "rows") == answered_here() != []
    assert len([name for name in s3.names("spark") if "/readers/spark-" in name]) == 1
    for path in [tmp_path / "log", *(tmp_path / "checkpoint").rglob("*")]:
        assert not path.is_file() or SECRET.encode() not in path.read_bytes()
