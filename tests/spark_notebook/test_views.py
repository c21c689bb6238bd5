# SPDX-License-Identifier: Apache-2.0
"""`create_temp_views`: a view for each stream of spools, and for each answer."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark")

from spark_command.written import QUERY, SETS, answered_here, in_order, plain, spool

from spark_sink import create_temp_views

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def forget(spark: SparkSession, *names: str) -> None:
    for name in names:
        spark.catalog.dropTempView(name)


def test_streams_and_answers_are_views(spark: SparkSession, tmp_path: Path) -> None:
    root = spool(tmp_path / "a spool", SETS)
    names = create_temp_views(root, spark=spark)
    try:
        assert names == ["resets", "talkers", "talkers_low"]
        listed = {table.name for table in spark.catalog.listTables() if table.isTemporary}
        assert listed >= set(names)
        rows = spark.sql("SELECT * FROM talkers").toArrow().to_pylist()
        plain_rows = [{key: plain(value) for key, value in row.items()} for row in rows]
        assert in_order(plain_rows) == answered_here(QUERY)
        (partial,) = spark.sql("SELECT count(*), count(_hb) FROM talkers_low").collect()
        assert partial[0] >= len(rows)
        assert partial[1] == 0
    finally:
        forget(spark, *names)


def test_views_of_several_spools_go_on(spark: SparkSession, tmp_path: Path) -> None:
    """And what is asked of a view later has what has come since."""
    roots = [spool(tmp_path / "a"), spool(tmp_path / "b")]
    names = create_temp_views(roots, spark=spark, options={"strings": "text"})
    try:
        total = "SELECT sum(packets) FROM query"
        (before,) = spark.sql(total).collect()
        assert before[0] == 2 * sum(row["packets"] for row in answered_here(QUERY))
        assert names == ["query", "query_low"]
    finally:
        forget(spark, *names)
