# SPDX-License-Identifier: Apache-2.0
"""AND, OR, CASE, COALESCE: what decides alone spares the rest, so a guarded division is safe.

A false operand of AND, a true one of OR decides wherever it stands and whichever other operand has
no value. CASE asks its conditions in their order: a value that is not chosen may be none.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from pyspark.sql import Column
from pyspark.sql import functions as F

from spark_sink.expressions.values import Value, all_of, has_value

Branch = tuple[Value, Value]


def logical(operator: str, operands: Sequence[Value], *, nullable: bool) -> Value:
    """AND or OR of any number of operands: Spark's own, with NULL where an operand has no value."""
    join = Column.__and__ if operator == "AND" else Column.__or__
    result = reduce(join, map(_null_for_none, operands))
    conditions = [operand.valid for operand in operands if operand.valid is not None]
    if not conditions:
        return Value(result)
    if not nullable:
        return has_value(result)
    valid = reduce(Column.__and__, conditions)
    return Value(result, result.eqNullSafe(F.lit(operator == "OR")) | valid)


def _null_for_none(value: Value) -> Column:
    if value.valid is None or value.implied:
        return value.column
    return F.when(value.valid, value.column)


def choice(branches: Sequence[Branch], otherwise: Value, *, nullable: bool) -> Value:
    """CASE: the value behind the first condition that is true; NULL is not."""
    values = [part for branch in branches for part in branch] + [otherwise]
    if all(value.valid is None for value in values):
        return Value(_chosen([(c.column, v.column) for c, v in branches], otherwise.column))
    if not nullable and all(value.valid is None or value.implied for value in values):
        return _implied(branches, otherwise)
    return Value(
        _chosen([(c.column, v.column) for c, v in branches], otherwise.column),
        _valid(list(branches), otherwise),
    )


def _implied(branches: Sequence[Branch], otherwise: Value) -> Value:
    """A condition without a value ends the search with NULL, which is none."""
    steps = []
    for condition, value in branches:
        steps.append((condition.column, value.column))
        if condition.implied:
            steps.append((condition.column.isNull(), F.lit(None)))
    return has_value(_chosen(steps, otherwise.column))


def _valid(branches: list[Branch], otherwise: Value) -> Column | None:
    if not branches:
        return otherwise.valid
    (condition, value), *rest = branches
    later, conditions = _valid(rest, otherwise), [condition.valid]
    if value.valid is not None or later is not None:
        chosen = F.coalesce(condition.column, F.lit(False))
        conditions.append(F.when(chosen, _always(value.valid)).otherwise(_always(later)))
    return all_of([part for part in conditions if part is not None])


def first_of(values: Sequence[Value]) -> Value:
    """COALESCE: what stands behind the first that is not NULL may have no value."""
    return Value(F.coalesce(*(value.column for value in values)), _valid_until_found(list(values)))


def _valid_until_found(values: list[Value]) -> Column | None:
    (value, *rest) = values
    later = _valid_until_found(rest) if rest else None
    conditions = [value.valid]
    if later is not None:
        conditions.append(F.when(value.column.isNotNull(), F.lit(True)).otherwise(later))
    return all_of([part for part in conditions if part is not None])


def extreme(operator: str, values: Sequence[Value]) -> Value:
    """GREATEST, LEAST: Spark's own pass over NULL as well."""
    choose = F.greatest if operator == "GREATEST" else F.least
    valid = all_of([value.valid for value in values if value.valid is not None])
    return Value(choose(*(value.column for value in values)), valid)


def null_if(value: Value, other: Value) -> Value:
    """NULLIF."""
    column = F.when(value.column == other.column, F.lit(None)).otherwise(value.column)
    return Value(column, all_of([v.valid for v in (value, other) if v.valid is not None]))


def _always(valid: Column | None) -> Column:
    return F.lit(True) if valid is None else valid


def _chosen(steps: Sequence[tuple[Column, Column]], otherwise: Column) -> Column:
    (condition, value), *rest = steps
    result = F.when(condition, value)
    for condition, value in rest:
        result = result.when(condition, value)
    return result.otherwise(otherwise)
