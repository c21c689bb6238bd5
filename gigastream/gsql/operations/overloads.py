# SPDX-License-Identifier: Apache-2.0
"""Which overload of a function a call means: the one whose arguments widen least."""

from __future__ import annotations

from collections.abc import Sequence

from gigastream.gsql.catalog.catalog import Function
from gigastream.gsql.expressions import Expression
from gigastream.gsql.operations.conversion import is_flexible, is_null
from gigastream.gsql.order.ranges import fits, range_of
from gigastream.gsql.types import Type

_WIDENINGS = {
    (Type.USHORT, Type.UINT): 1,
    (Type.USHORT, Type.ULLONG): 2,
    (Type.USHORT, Type.INT): 2,
    (Type.USHORT, Type.LLONG): 3,
    (Type.UINT, Type.ULLONG): 1,
    (Type.UINT, Type.LLONG): 2,
    (Type.INT, Type.LLONG): 1,
    (Type.TIMESTAMP, Type.LLONG): 4,
    (Type.ULLONG, Type.LLONG): 6,
    (Type.IP, Type.INET): 1,
    (Type.IPV6, Type.INET): 1,
}
"""What each implicit conversion costs; that of ullong to llong is checked (GSQL section 3)."""

_TO_FLOAT = 8


def chosen(overloads: Sequence[Function], arguments: Sequence[Expression]) -> Function | None:
    """The cheapest overload, the first declared of equals; None if the arguments fit none."""
    best: tuple[int, Function] | None = None
    for function in overloads:
        cost = _cost(function, arguments)
        if cost is not None and (best is None or cost < best[0]):
            best = (cost, function)
    return None if best is None else best[1]


def _cost(function: Function, arguments: Sequence[Expression]) -> int | None:
    if len(function.parameters) != len(arguments):
        return None
    pairs = zip(arguments, function.parameters, strict=True)
    costs = [_widening(argument, type_) for argument, type_ in pairs]
    known = [cost for cost in costs if cost is not None]
    return sum(known) if len(known) == len(costs) else None


def _widening(argument: Expression, type_: Type) -> int | None:
    if argument.type is type_ or is_null(argument):
        return 0
    if is_flexible(argument) and type_.is_integer:
        return 1 if fits(range_of(argument), type_) else None
    if type_ is Type.FLOAT and argument.type.is_integer:
        return _TO_FLOAT
    return _WIDENINGS.get((argument.type, type_))
