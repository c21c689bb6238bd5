# SPDX-License-Identifier: Apache-2.0
"""Conditions as filters, which Spark's optimizer rewrites more freely than columns."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark")

from gigastream.gsql.expressions import Expression
from tests.spark_expressions.evaluation import condition, frame
from tests.spark_expressions.inputs import checked, rows
from tests.spark_expressions.reference import expected

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

CONDITIONS = [
    "x_int / y_int > 0",
    "y_int <> 0 AND x_int / y_int > 0",
    "x_int / y_int > 0 OR n_bool",
    "n_bool OR x_int / y_int > 0",
    "NOT (n_int > m_int)",
    "n_int <> m_int",
    "NOT (n_float < m_float OR n_bool)",
    "x_float <> x_float",
    "x_float = x_float AND x_float > 1.5",
    "LLONG(x_int) > 4294967296",
    "x_llong = 9007199254740992.0",
    "x_ullong < 0 - 1 OR x_ullong > 9223372036854775807",
    "(n_int / m_int > 0) IS NULL",
    "x_llong + 9223372036854775807 + (0 - 9223372036854775807) = x_llong",
    "x_ushort IN [7, 64] AND NOT n_ushort IN [7, 64]",
    "x_IP IN IP_VAL'10.0.0.0/8'",
    "n_INET IN IP_VAL'10.0.0.0/8' OR y_bool",
    "IF(n_bool, x_int / y_int, 1) > 0",
    "CASE WHEN n_int > 0 THEN n_bool WHEN m_int > 0 THEN m_bool ELSE x_bool END",
    "x_uint << 31 = y_ullong",
]


def test_filters(spark: SparkSession) -> None:
    data = [{**row, "x_uint": number} for number, row in enumerate(rows())]
    table = frame(spark, data)
    parts = [_passing(table, at, e) for at, e in enumerate(checked(CONDITIONS))]
    found = {(row[0], row[1]) for row in reduce(lambda a, b: a.unionAll(b), parts).collect()}
    for at, outcomes in enumerate(expected(CONDITIONS, data)):
        wanted = {number for number, outcome in enumerate(outcomes) if outcome is True}
        assert {number for which, number in found if which == at} == wanted, CONDITIONS[at]


def _passing(table: DataFrame, at: int, expression: Expression) -> DataFrame:
    """The numbers of the rows for which a condition is true."""
    from pyspark.sql import functions as F

    value = condition(table, expression)
    kept = table.where(F.coalesce(value.column, F.lit(False)))
    kept = kept if value.valid is None else kept.where(value.valid)
    return kept.select(F.lit(at), kept["x_uint"])
