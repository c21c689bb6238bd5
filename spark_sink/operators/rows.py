# SPDX-License-Identifier: Apache-2.0
"""What operators on Spark have in common: columns by position, expressions over them, WHERE."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from gigastream.gsql.expressions import ColumnRef, Expression
from gigastream.gsql.queries import OutputColumn
from gigastream.gsql.types import Schema, Temporal, Type
from gigastream.plan.text import expression_text
from spark_sink.expressions import Value, column

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


def numbered(values: Sequence[Value]) -> list[Column]:
    """The columns that a node puts out."""
    return [value.column.alias(f"c{index}") for index, value in enumerate(values)]


def over_columns(expression: Expression, *inputs: DataFrame) -> Value:
    """An expression over the columns of streams, one a port."""

    def leaf(e: Expression) -> Value:
        assert isinstance(e, ColumnRef)
        return Value(inputs[e.port][f"c{e.index}"], None)

    return column(expression, leaf)


def of_bounds(value: Value, expression: Expression) -> Value:
    """A temporal value that no bound can reach is no value, as in the engine."""
    if not (expression.temporal.is_temporal and expression.type is Type.ULLONG):
        return value
    fits = value.column < F.lit(str(1 << 63)).cast("decimal(20,0)")
    return Value(value.column, fits if value.valid is None else value.valid & fits)


def is_true(predicate: Value) -> Column:
    """False where it is NULL, or has no value."""
    holds = F.coalesce(predicate.column, F.lit(False))
    return holds if predicate.valid is None else holds & predicate.valid


def kept(rows: DataFrame, predicates: Sequence[Value], values: Sequence[Value]) -> DataFrame:
    """The rows that pass, and for which everything that is computed has a value."""
    for predicate in predicates:
        rows = rows.where(F.coalesce(predicate.column, F.lit(False)))
    valid = [v.valid for v in (*predicates, *values) if v.valid is not None]
    return rows.where(reduce(lambda a, b: a & b, valid)) if valid else rows


def in_time(schema: Schema, place: int) -> Column:
    """What sorts by a column as time goes on."""
    column = F.col(f"c{place}")
    is_falling = schema.columns[place].temporal is Temporal.DECREASING
    return column.desc() if is_falling else column.asc()


def outputs_text(outputs: Sequence[OutputColumn]) -> str:
    """The SELECT list, for people."""
    return ", ".join(f"{expression_text(o.expression)} AS {o.name}" for o in outputs)
