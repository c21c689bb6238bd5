# SPDX-License-Identifier: Apache-2.0
"""The session that all tests share is there, and its workers run our Python."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_it_answers(spark: SparkSession) -> None:
    assert spark.range(10).selectExpr("sum(id)").first()[0] == 45
