# SPDX-License-Identifier: Apache-2.0
"""Many expressions over many rows in few Spark jobs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from decimal import Decimal
from typing import TYPE_CHECKING

from gigastream.gsql.expressions import ColumnRef, Expression
from tests.spark_expressions.inputs import Cell, columns, spark_cell
from tests.spark_expressions.reference import NO_VALUE, Outcome

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from spark_sink.expressions import Value

_IN_A_JOB = 140
"""Beyond, Java's limits on methods make Spark slow."""


def frame(spark: SparkSession, rows: Sequence[dict[str, Cell]]) -> DataFrame:
    """The rows in types from inside; not a local relation, so that code is generated."""
    from gigastream.gsql.types import TYPE_NAMES
    from spark_sink.expressions.values import SPARK_TYPE

    kinds = columns()
    schema = ", ".join(f"{n} {SPARK_TYPE[TYPE_NAMES[k.type]]}" for n, k in kinds.items())
    data = [tuple(spark_cell(kind, row[name]) for name, kind in kinds.items()) for row in rows]
    return spark.createDataFrame(spark.sparkContext.parallelize(data, 1), schema)


def outcomes(
    table: DataFrame, expressions: Sequence[Expression], *, hidden: str = ""
) -> list[list[Outcome]]:
    """A list of outcomes for each expression: a cell, or no value.

    Where the column `hidden` is false, those of the same side (x, y, …) have no value.
    """
    found: list[list[Outcome]] = []
    for first in range(0, len(expressions), _IN_A_JOB):
        found += _of_job(table, expressions[first : first + _IN_A_JOB], hidden)
    return found


def _of_job(
    table: DataFrame, expressions: Sequence[Expression], hidden: str
) -> list[list[Outcome]]:
    from pyspark.sql import functions as F

    from spark_sink.expressions import column

    values = [column(expression, lambda e: _leaf(table, e, hidden)) for expression in expressions]
    named = [value.column.alias(f"c{index}") for index, value in enumerate(values)]
    named += [
        (F.lit(True) if value.valid is None else value.valid).alias(f"v{index}")
        for index, value in enumerate(values)
    ]
    found = table.select(*named).collect()
    count = len(values)
    return [[_outcome(row[at], row[count + at]) for row in found] for at in range(count)]


def condition(table: DataFrame, expression: Expression) -> Value:
    """An expression over the table's columns."""
    from spark_sink.expressions import column

    return column(expression, lambda e: _leaf(table, e, ""))


def _leaf(table: DataFrame, expression: Expression, hidden: str) -> Value:
    from spark_sink.expressions import Value

    assert isinstance(expression, ColumnRef)
    if hidden and expression.name[0] == hidden[0]:
        return Value(table[expression.name], table[hidden])
    return Value(table[expression.name])


def _outcome(cell: object, valid: bool) -> Outcome:
    assert isinstance(valid, bool), "a condition that is NULL drops nothing"
    if not valid:
        return NO_VALUE
    if isinstance(cell, Decimal):
        return int(cell)
    return bytes(cell) if isinstance(cell, bytearray) else cell  # type: ignore[return-value]


@contextmanager
def ansi_mode(spark: SparkSession, mode: str) -> Iterator[None]:
    """Spark in ANSI mode, or not, as `true` and `false` say."""
    before = spark.conf.get("spark.sql.ansi.enabled")
    spark.conf.set("spark.sql.ansi.enabled", mode)
    try:
        yield
    finally:
        spark.conf.set("spark.sql.ansi.enabled", before)
