# SPDX-License-Identifier: Apache-2.0
"""In which type two values meet, and how a value gets there: always by an explicit Cast node."""

from __future__ import annotations

from math import isfinite, trunc

from gigastream.gsql.expressions import Cast, Constant, ConstantValue, Expression
from gigastream.gsql.order.inference import temporal_of
from gigastream.gsql.order.ranges import fits, limits_of, range_of
from gigastream.gsql.source import Span
from gigastream.gsql.types import Temporal, Type
from gigastream.late_dataclass import replace

_MAPPED = bytes(10) + b"\xff\xff"
"""::ffff:0:0/96, before the four bytes of an IPv4 address in an INET."""

_OF_NUMBERS_ALONE = (Type.INT, Type.UINT, Type.LLONG, Type.ULLONG)


def common_type(left: Expression, right: Expression) -> Type | None:
    """The type in which two values meet; None if there is none."""
    if is_null(left) or is_null(right):
        return right.type if is_null(left) else left.type
    if is_flexible(left) != is_flexible(right):
        loose, firm = (left, right) if is_flexible(left) else (right, left)
        if firm.type.is_integer and _holds(firm.type, loose):
            return firm.type
    if is_flexible(left) and is_flexible(right):
        return constant_type(left, right) or Type.LLONG
    return common_of_types(left.type, right.type)


def common_of_types(left: Type, right: Type) -> Type | None:
    """The narrowest type that holds both; llong for ullong and a signed one."""
    if left is right:
        return left
    if left.is_address and right.is_address:
        return Type.INET
    if not (left.is_numeric and right.is_numeric):
        return None
    if Type.FLOAT in (left, right):
        return Type.FLOAT
    wide, narrow = (left, right) if left.bits >= right.bits else (right, left)
    if wide.is_unsigned == narrow.is_unsigned or (wide.bits > narrow.bits and narrow.is_unsigned):
        return wide
    return Type.LLONG


def converted(expression: Expression, type_: Type) -> Expression:
    """The value in another type; a cast is checked where a value may not fit."""
    if isinstance(expression, Constant):
        constant = _constant(expression, type_)
        if constant is not None:
            return constant
    if expression.type is type_:
        return expression
    cast = Cast(
        type=type_,
        nullable=expression.nullable,
        operand=expression,
        checked=_may_not_fit(expression, type_),
        span=expression.span,
    )
    return replace(cast, temporal=temporal_of(cast))


def constant_type(*constants: Expression) -> Type | None:
    """The type of whole numbers that meet nothing else: int, else the first that holds them all."""
    for type_ in _OF_NUMBERS_ALONE:
        if all(_holds(type_, constant) for constant in constants):
            return type_
    return None


def flexible_constant(value: int, span: Span) -> Constant | None:
    """A whole number without a suffix; None if it has more than 64 bits."""
    for type_ in _OF_NUMBERS_ALONE:
        if fits((value, value), type_):
            return Constant(
                type=type_, temporal=Temporal.CONSTANT, value=value, flexible=True, span=span
            )
    return None


def is_flexible(expression: Expression) -> bool:
    """True for a whole number that takes the type of what it meets."""
    return isinstance(expression, Constant) and expression.flexible


def is_null(expression: Expression) -> bool:
    """True for NULL."""
    return isinstance(expression, Constant) and expression.value is None


def exact_type(expression: Expression) -> str:
    """What a message calls the type of a value."""
    if is_null(expression):
        return "NULL"
    return "a whole number" if is_flexible(expression) else str(expression.type)


def with_article(type_: Type) -> str:
    """A type as a message speaks of one value of it."""
    return f"{'an' if str(type_)[0] in 'iI' else 'a'} {type_}"


def counted(expression: Expression) -> Expression:
    """A timestamp as its nanoseconds; everything else as it is."""
    is_time = expression.type is Type.TIMESTAMP
    return converted(expression, Type.LLONG) if is_time else expression


def mapped(address: int) -> bytes:
    """An IPv4 address as an INET."""
    return _MAPPED + address.to_bytes(4, "big")


def unmapped(address: bytes) -> int | None:
    """The IPv4 address in an INET; None if it holds an IPv6 one."""
    return int.from_bytes(address[12:], "big") if address[:12] == _MAPPED else None


def _holds(type_: Type, constant: Expression) -> bool:
    return fits(range_of(constant), type_)


def _may_not_fit(expression: Expression, type_: Type) -> bool:
    if type_ is Type.FLOAT:
        return False
    if expression.type is Type.FLOAT:
        return True
    if type_.is_address and expression.type.is_address:
        return type_ is not Type.INET
    return not fits(range_of(expression), type_)


def _constant(constant: Constant, type_: Type) -> Constant | None:
    """The constant in another type; None if it does not fit there."""
    if constant.value is None or constant.type is type_:
        return replace(constant, type=type_, flexible=False)
    value = _value(constant.value, constant.type, type_)
    return None if value is None else replace(constant, type=type_, value=value, flexible=False)


def _value(value: ConstantValue, from_: Type, to: Type) -> ConstantValue | None:
    if isinstance(value, bytes):
        return _address(value, to)
    if to is Type.INET:
        return mapped(int(value))
    if to is Type.FLOAT:
        return float(value)
    if isinstance(value, float) and not isfinite(value):
        return None
    whole = trunc(value)
    low, high = limits_of(to)
    return whole if low <= whole <= high else None


def _address(value: bytes, to: Type) -> ConstantValue | None:
    if to is Type.IP:
        return unmapped(value)
    return value if to is Type.INET or unmapped(value) is None else None
