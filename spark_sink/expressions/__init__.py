# SPDX-License-Identifier: Apache-2.0
"""Checked expressions (gigastream/gsql/expressions.py) as Spark columns with the engine's values.

    column(expression, leaf) -> Value
    refusal(expression) -> what of it cannot run on Spark, and where it stands

Types are those inside (values.SPARK_TYPE). Nothing depends on ANSI mode, and no value of a row
raises: overflow, division by zero and a partial function without a value end as NULL and as
`valid` false.
"""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import Column

from gigastream.gsql.expressions import (
    Case,
    Cast,
    Constant,
    Expression,
    FunctionCall,
    Operation,
    PythonResult,
    walk,
)
from gigastream.gsql.source import Span
from spark_sink.expressions import arithmetic, comparisons, functions
from spark_sink.expressions.casts import converted
from spark_sink.expressions.logic import choice, extreme, first_of, logical, null_if
from spark_sink.expressions.values import Value, constant, strict

__all__ = ["Value", "column", "refusal"]

Leaf = Callable[[Expression], Value]


def column(expression: Expression, leaf: Leaf) -> Value:
    """The Spark column of an expression; `leaf` gives those of columns, groups and aggregates."""
    if isinstance(expression, Constant):
        return constant(expression)
    if isinstance(expression, Operation):
        return _operation(expression, leaf)
    if isinstance(expression, Cast):
        return _cast(expression, leaf)
    if isinstance(expression, Case):
        return _case(expression, leaf)
    if isinstance(expression, FunctionCall):
        return _call(expression, leaf)
    if isinstance(expression, PythonResult):
        return Value(leaf(expression.value).column, leaf(expression.given).column)
    return leaf(expression)


def refusal(expression: Expression) -> tuple[Span, str] | None:
    """The first part of an expression that Spark cannot compute as the engine does, and why."""
    for part in walk(expression):
        if isinstance(part, FunctionCall):
            reason = functions.refused(part)
            if reason is not None:
                return part.span, reason
    return None


def _operation(e: Operation, leaf: Leaf) -> Value:
    operands = [column(operand, leaf) for operand in e.operands]
    if e.operator in ("AND", "OR"):
        return logical(e.operator, operands, nullable=e.nullable)
    if e.operator == "COALESCE":
        return first_of(operands)
    if e.operator == "NULLIF":
        return null_if(*operands)
    if e.operator in ("GREATEST", "LEAST"):
        return extreme(e.operator, operands)
    if e.operator == "IS_NULL":
        return Value(operands[0].column.isNull(), operands[0].valid)
    return strict(e, operands, lambda columns: _computed(e, columns), partial=e.checked)


def _computed(e: Operation, columns: list[Column]) -> Column:
    if e.operator == "NOT":
        return ~columns[0]
    if e.operator == "IN":
        return comparisons.is_in(e, columns)
    if e.operator == "IS_PREFIX":
        return comparisons.is_prefix(e, columns)
    if e.operator in comparisons.OPERATORS:
        return comparisons.compared(e.operator, e.operands[0].type, *columns)
    return arithmetic.calculated(e, columns)


def _cast(e: Cast, leaf: Leaf) -> Value:
    return strict(
        e, [column(e.operand, leaf)], lambda columns: converted(e, columns[0]), partial=e.checked
    )


def _case(e: Case, leaf: Leaf) -> Value:
    branches = [(column(when, leaf), column(then, leaf)) for when, then in e.branches]
    return choice(branches, column(e.otherwise, leaf), nullable=e.nullable)


def _call(e: FunctionCall, leaf: Leaf) -> Value:
    arguments = [column(argument, leaf) for argument in e.arguments]
    return strict(e, arguments, lambda columns: functions.called(e, columns), partial=e.partial)
