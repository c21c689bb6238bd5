# SPDX-License-Identifier: Apache-2.0
"""`+ - * / % & | ^ << >>`, `-x`, `~x` (GSQL §3): types, values, and what has none; order by §5."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from dataclasses import replace

from tests.answers.reference.typed import (
    CONSTANT,
    FLIPPED,
    VARYING,
    Typed,
    cast,
    constant,
    counted,
    loose_in,
    settled,
)
from tests.answers.reference.types import (
    BITS,
    UNSIGNED,
    NoValueError,
    Value,
    fitted,
    meet,
)

WIDENING = frozenset({"+", "-", "*", "<<"})
SHIFTS = frozenset({"<<", ">>"})


def _divided(a: int, b: int) -> int:
    """Division truncates towards zero."""
    if b == 0:
        raise NoValueError
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def _remainder(a: int, b: int) -> int:
    return a - b * _divided(a, b)


def _left(a: int, b: int) -> int:
    return 0 if a == 0 else a << min(b, 200)


WHOLE: dict[str, Callable[[int, int], int]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": _divided,
    "%": _remainder,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "<<": _left,
    ">>": lambda a, b: a >> min(b, 200),
}


FLOATING: dict[str, Callable[[float, float], float]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "%": math.fmod,
}


def binary(sign: str, left: Typed, right: Typed) -> Typed:
    """An operator over two expressions."""
    if left.is_loose and right.is_loose:
        return _loose(sign, left, right)
    if "float" in (left.type, right.type):
        return _floating(sign, left, right)
    moved = _moves(sign, left, right)
    result = _whole(sign, counted(left), counted(right))
    order = _order(sign, left, right)
    if order == CONSTANT:
        folded = _folded(result)
        return cast(folded, "timestamp") if moved else folded
    result = replace(result, order=order)
    return cast(result, "timestamp") if moved else result


def _loose(sign: str, left: Typed, right: Typed) -> Typed:
    """A number without a type again; where there is none, what has no value in any row."""
    try:
        return constant("number", WHOLE[sign](_number(left), _number(right)))
    except NoValueError:
        return _folded(_whole(sign, settled(left), settled(right)))


def _folded(whole: Typed) -> Typed:
    """Its value, or where that does not fit what has none in any row."""
    try:
        return constant(whole.type, whole.read(None))
    except NoValueError:
        return replace(whole, order=VARYING)


def _number(typed: Typed) -> int:
    assert isinstance(typed.constant, int)
    return typed.constant


def _moves(sign: str, left: Typed, right: Typed) -> bool:
    """Whether a time is moved by a number, and so stays a time."""
    times = [left.type, right.type].count("timestamp")
    return times == 1 and (sign == "+" or (sign == "-" and left.type == "timestamp"))


def _floating(sign: str, left: Typed, right: Typed) -> Typed:
    a, b, compute = cast(left, "float"), cast(right, "float"), FLOATING[sign]

    def read(row: object) -> Value:
        x, y = a.read(row), b.read(row)
        return None if x is None or y is None else _finite(compute, float(x), float(y))

    return Typed("float", read)


def _finite(compute: Callable[[float, float], float], x: float, y: float) -> float:
    """A float that is not finite is no value."""
    try:
        result = compute(x, y)
    except (ZeroDivisionError, ValueError):
        raise NoValueError from None
    if not math.isfinite(result):
        raise NoValueError
    return result


def met_type(left: Typed, right: Typed) -> str:
    """The type in which two meet; a loose number takes the other's, if that holds it."""
    taken = loose_in(left, right.type) or loose_in(right, left.type)
    return taken or meet(settled(left).type, settled(right).type)


def _whole(sign: str, left: Typed, right: Typed) -> Typed:
    type_ = met_type(left, right)
    if sign in WIDENING and BITS[type_] <= 32:
        type_ = "llong"
    a = cast(left, type_)
    b = cast(right, "ullong" if sign in SHIFTS else type_)
    compute = WHOLE[sign]

    def read(row: object) -> Value:
        x, y = a.read(row), b.read(row)
        return None if x is None or y is None else fitted(type_, compute(int(x), int(y)))

    return Typed(type_, read)


def negative(operand: Typed) -> Typed:
    """`-x`: float or llong."""
    if operand.is_loose:
        return constant("number", -_number(operand))
    type_ = "float" if operand.type == "float" else "llong"
    inner = cast(counted(operand), type_)

    def read(row: object) -> Value:
        x = inner.read(row)
        if x is None:
            return None
        return -x if type_ == "float" else fitted("llong", -int(x))

    order = FLIPPED.get(inner.order, VARYING) if type_ == "llong" else VARYING
    return Typed(type_, read, order)


def complement(operand: Typed) -> Typed:
    """`~x`: the type stays."""
    if operand.is_loose:
        return constant("number", ~_number(operand))
    inner = counted(operand)
    mask = 2 ** BITS[inner.type] - 1 if inner.type in UNSIGNED else -1

    def read(row: object) -> Value:
        x = inner.read(row)
        return None if x is None else ~int(x) & mask

    return Typed(inner.type, read)


def _order(sign: str, left: Typed, right: Typed) -> str:
    """The temporal type of an operation, as far as queries here need it."""
    if left.order == CONSTANT and right.order == CONSTANT:
        return CONSTANT
    if sign != "&" and not (_is_bound(left.constant) and _is_bound(right.constant)):
        return VARYING
    if right.order == CONSTANT:
        return _with_constant(sign, left.order, right.constant)
    if left.order == CONSTANT:
        if sign == "-":
            return FLIPPED.get(right.order, VARYING)
        return (
            _with_constant(sign, right.order, left.constant) if sign in ("+", "*", "&") else VARYING
        )
    both = right.order if sign == "+" else FLIPPED.get(right.order, VARYING)
    return left.order if sign in ("+", "-") and left.order == both else VARYING


def _is_bound(value: Value) -> bool:
    """False of a constant that punctuation, of 64 signed bits, cannot be moved by."""
    return not isinstance(value, int) or -(2**63) < value < 2**63 - 1


def _clears_low_bits(mask: Value) -> bool:
    """Whether a mask keeps all bits of 32 from some bit on; times have no more."""
    low = mask & 0xFFFFFFFF if isinstance(mask, int) else 0
    return low != 0 and low + (low & -low) == 1 << 32


def _with_constant(sign: str, order: str, value: Value) -> str:
    if sign in ("+", "-", ">>"):
        return order
    if sign == "&":
        return order if _clears_low_bits(value) else VARYING
    if sign not in ("*", "/") or not isinstance(value, int) or value == 0:
        return VARYING
    if value < 0:
        return FLIPPED.get(order, VARYING) if sign == "*" else VARYING
    return order
