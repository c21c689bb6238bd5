# SPDX-License-Identifier: Apache-2.0
"""Columns that have no value themselves, as an aggregate that left its type, and their order."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark")

from gigastream.gsql.types import TYPE_NAMES
from spark_sink.expressions.values import literal
from tests.spark_expressions.evaluation import frame, outcomes
from tests.spark_expressions.inputs import KINDS, checked, rows
from tests.spark_expressions.reference import assert_same, expected

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EXPRESSIONS = [
    "x_int",
    "x_int + y_int",
    "n_int + x_int",
    "n_int IS NULL OR x_int > 0",
    "x_int > 0 OR n_int IS NULL",
    "y_bool AND x_int > 0",
    "NOT y_bool AND n_bool AND x_int > 0",
    "x_int IS NULL",
    "IF(y_bool, x_int, y_int)",
    "IF(x_int > 0, n_int, y_int)",
    "CASE WHEN n_bool THEN x_int WHEN y_bool THEN 1 END",
    "CASE WHEN y_int / y_uint > 0 THEN x_int ELSE n_int END + y_int / y_uint",
    "UMIN(x_uint, n_uint)",
]


def test_leaves(spark: SparkSession) -> None:
    """What is not reached need not be there, as for operations."""
    data = rows()
    given = outcomes(frame(spark, data), checked(EXPRESSIONS), hidden="x_bool")
    assert_same(EXPRESSIONS, data, expected(EXPRESSIONS, data, hidden="x_bool"), given)


def test_order(spark: SparkSession) -> None:
    """Python's order is the engine's: bytes, numbers, NULL first."""
    from pyspark.sql import functions as F

    arrays = [
        F.sort_array(F.array(*(literal(v, TYPE_NAMES[kind.type]) for v in (*kind.values, None))))
        for kind in KINDS
    ]
    found = spark.range(1).select(*(a.alias(k.type) for a, k in zip(arrays, KINDS, strict=True)))
    row = found.first()
    assert row is not None
    for kind in KINDS:
        cells = [bytes(c) if isinstance(c, bytearray) else c for c in row[kind.type]]
        assert cells == [None, *sorted(kind.values)]  # type: ignore[type-var]
