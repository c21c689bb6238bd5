# SPDX-License-Identifier: Apache-2.0
"""Aggregates in Python: a group keeps the bytes of its rows, and a function is given them all.

So it is three parts that are there already: a function in Python of a row, an aggregate over what
that gives, and a function in Python of what the aggregate has kept.
"""

from __future__ import annotations

from typing import Any

from gigastream.gsql.catalog.python_functions import PythonAggregate
from gigastream.gsql.expressions import (
    AggregateRef,
    Expression,
    PythonAggregateCall,
    PythonRow,
)
from gigastream.gsql.queries import ROWS, AggregateCall
from gigastream.gsql.syntax import ast
from gigastream.gsql.types import Type
from gigastream.late_dataclass import replace


def python_aggregate(
    node: ast.Call, function: PythonAggregate, arguments: tuple[Expression, ...]
) -> AggregateCall:
    """The rows that a call's groups keep, and the function of them."""
    common: dict[str, Any] = {
        "partial": True,
        "lfta_legal": False,
        "cost": function.cost,
        "header": function.header,
        "span": node.span,
        "ends": function.ends,
        "code": function.code,
    }
    pairs = zip(arguments, function.takes_null, strict=True)
    row = PythonRow(
        type=Type.STRING,
        nullable=any(argument.nullable and not takes for argument, takes in pairs),
        name=f"{function.name}_row",
        symbol=f"{function.symbol}_row",
        arguments=arguments,
        takes_null=function.takes_null,
        may_be_null=False,
        **common,
    )
    completed = PythonAggregateCall(
        type=function.result,
        nullable=True,
        name=function.name,
        symbol=function.symbol,
        arguments=(),
        takes_null=(False,),
        may_be_null=function.may_be_null,
        row_types=tuple(argument.type for argument in arguments),
        rows_take_null=function.takes_null,
        most_bytes=function.most_bytes,
        **common,
    )
    return AggregateCall(ROWS, row, Type.STRING, row.nullable, node.span, in_python=completed)


def of_rows(kept: AggregateRef, completed: PythonAggregateCall) -> Expression:
    """The value of what a group has kept."""
    nullable = completed.may_be_null or kept.nullable
    return replace(completed, arguments=(kept,), nullable=nullable)
