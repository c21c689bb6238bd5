# SPDX-License-Identifier: Apache-2.0
"""Aggregates as expressions over the columns of partial rows, for lfta_aggregation.

Where no aggregation above the border completes partial groups, each partial row is finished by
itself: its average is its sum over its count.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gigastream.gsql.expressions import (
    AggregateRef,
    Case,
    Cast,
    ColumnRef,
    Constant,
    Expression,
    FunctionCall,
    GroupRef,
    Operation,
    rewrite,
)
from gigastream.gsql.queries import GroupVariable
from gigastream.gsql.source import NOWHERE
from gigastream.gsql.types import Column, Temporal, Type
from gigastream.plan.accumulators import KINDS, Accumulator, Final


def over_partials(
    groups: Sequence[GroupVariable],
    columns: Sequence[Column],
    accumulators: Sequence[Accumulator],
    finals: Sequence[Final],
) -> Callable[[Expression], Expression]:
    """What puts expressions over GroupRef and AggregateRef over the columns of partial rows."""
    places = _places(len(groups), accumulators)

    def place(node: Expression) -> Expression:
        if isinstance(node, GroupRef):
            return _column(columns, node.index, node.temporal)
        if isinstance(node, AggregateRef):
            final = finals[node.index]
            parts = [[_column(columns, c) for c in places[a]] for a in final.accumulators]
            return _FINALS[final.kind](parts)
        return node

    return lambda expression: rewrite(expression, place)


def _places(first: int, accumulators: Sequence[Accumulator]) -> list[range]:
    """The columns of each accumulator, which stand behind those of the group variables."""
    places = []
    for accumulator in accumulators:
        width = len(KINDS[accumulator.kind].columns)
        places.append(range(first, first + width))
        first += width
    return places


def _column(
    columns: Sequence[Column], index: int, temporal: Temporal = Temporal.VARYING
) -> ColumnRef:
    column = columns[index]
    return ColumnRef(
        type=column.type,
        temporal=temporal,
        nullable=column.nullable,
        span=NOWHERE,
        index=index,
        name=column.name,
    )


Parts = list[list[ColumnRef]]


def _value(parts: Parts) -> Expression:
    return parts[0][0]


def _average(parts: Parts) -> Expression:
    return _quotient(_float(parts[0][0]), _float(parts[1][0]))


def _variance(parts: Parts) -> Expression:
    return _of_two_rows(parts, lambda quotient: quotient)


def _deviation(parts: Parts) -> Expression:
    return _of_two_rows(parts, _root)


_FINALS: dict[str, Callable[[Parts], Expression]] = {
    "value": _value,
    "average": _average,
    "variance": _variance,
    "deviation": _deviation,
}


def _of_two_rows(parts: Parts, of: Callable[[Expression], Expression]) -> Expression:
    """A function of the sample variance; NULL where fewer than two rows make none.

    (sum d^2 - (sum d)^2 / n) / (n - 1), of the differences d from the slot's first value.
    """
    count, _, total, low, high = parts[0]
    squares = _combined("+", _combined("*", _float(high), _number(2.0**64)), _float(low))
    mean = _combined("*", _float(total), _quotient(_float(total), _float(count)))
    squares = _combined("-", squares, mean)
    one = Constant(type=Type.ULLONG, temporal=Temporal.CONSTANT, span=NOWHERE, value=1)
    nothing = Constant(type=Type.FLOAT, nullable=True, span=NOWHERE, value=None)
    enough = _operation(Type.BOOL, ">", count, one)
    less = _operation(Type.ULLONG, "-", count, one)
    value = of(_quotient(squares, _float(less)))
    return Case(
        type=Type.FLOAT,
        nullable=True,
        span=NOWHERE,
        branches=((enough, value),),
        otherwise=nothing,
    )


def _float(e: Expression) -> Expression:
    if e.type is Type.FLOAT:
        return e
    return Cast(type=Type.FLOAT, nullable=e.nullable, span=NOWHERE, operand=e)


def _quotient(left: Expression, right: Expression) -> Expression:
    return _combined("/", left, right)


def _combined(operator: str, left: Expression, right: Expression) -> Expression:
    return _operation(Type.FLOAT, operator, left, right)


def _operation(type_: Type, operator: str, left: Expression, right: Expression) -> Operation:
    """NULL where an operand is."""
    return Operation(
        type=type_,
        nullable=left.nullable or right.nullable,
        span=NOWHERE,
        operator=operator,
        operands=(left, right),
    )


def _number(value: float) -> Constant:
    return Constant(type=Type.FLOAT, temporal=Temporal.CONSTANT, span=NOWHERE, value=value)


def _root(e: Expression) -> Expression:
    return FunctionCall(
        type=Type.FLOAT,
        span=NOWHERE,
        name="sqrt",
        symbol="gs_function_sqrt_float",
        arguments=(e,),
        nullable=e.nullable,
        partial=True,
        include="gs_functions.h",
    )
