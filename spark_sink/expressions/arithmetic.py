# SPDX-License-Identifier: Apache-2.0
"""`+ - * / % & | ^ << >> neg ~` (GSQL section 3): exact, checked, and NULL where there is no value.

The same answers with and without ANSI mode: only what never raises is used, and a divisor that
would is replaced by NULL before it is divided by.
"""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import Column
from pyspark.sql import functions as F

from gigastream.gsql.expressions import Constant, Operation
from gigastream.gsql.types import Type
from spark_sink.expressions.mathematics import finite
from spark_sink.expressions.shifts import shifted_left, shifted_right
from spark_sink.expressions.values import SPARK_TYPE
from spark_sink.expressions.whole_numbers import (
    bits_of,
    fitted,
    is_wide,
    long,
    number,
    of_bits,
    settled,
)

_GROWING: dict[str, Callable[[Column, Column], Column]] = {
    "+": F.try_add,
    "-": F.try_subtract,
    "*": F.try_multiply,
}
_FLOATING: dict[str, Callable[[Column, Column], Column]] = {
    "+": Column.__add__,
    "-": Column.__sub__,
    "*": Column.__mul__,
    "/": F.try_divide,
    "%": F.try_mod,
}
_BITWISE: dict[str, Callable[[Column, Column], Column]] = {
    "&": Column.bitwiseAND,
    "|": Column.bitwiseOR,
    "^": Column.bitwiseXOR,
}


def calculated(e: Operation, operands: list[Column]) -> Column:
    """The result of an arithmetic operator over columns of its operands."""
    if e.operator == "neg":
        return _negated(e, operands[0])
    if e.operator == "~":
        return _complemented(e.type, operands[0])
    left, right = operands
    if e.type is Type.FLOAT:
        compute = _FLOATING[e.operator]
        return (finite(compute) if e.checked else compute)(left, right)
    if e.operator in _BITWISE:
        return _bitwise(e, left, right)
    if e.operator in ("<<", ">>"):
        shift = shifted_left if e.operator == "<<" else shifted_right
        return shift(e, left, right)
    if e.operator == "//":
        return _quotient(long(left) - F.pmod(long(left), right), right)
    if e.operator in _GROWING:
        return _grown(e, left, right)
    return _divided(e, left, right) if e.operator == "/" else F.try_mod(left, right)


def _negated(e: Operation, x: Column) -> Column:
    return F.negate(x) if e.type is Type.FLOAT else F.try_subtract(number(0), long(x))


def _complemented(type_: Type, x: Column) -> Column:
    if not type_.is_unsigned:
        return F.bitwise_not(x)
    return (number(type_.limits[1], type_) - x).cast(SPARK_TYPE[type_])


def _bitwise(e: Operation, left: Column, right: Column) -> Column:
    compute = _BITWISE[e.operator]
    if is_wide(e.type):
        return of_bits(compute(bits_of(left), bits_of(right)))
    return compute(left, right)


def _grown(e: Operation, left: Column, right: Column) -> Column:
    compute = _GROWING[e.operator]
    if not is_wide(e.type):
        return _narrowed(e.type, settled(compute(long(left), long(right))))
    result = compute(left, right)
    return fitted(result, e.type, decimal=True) if e.checked else result.cast("decimal(20,0)")


def _narrowed(type_: Type, result: Column) -> Column:
    if type_ in (Type.LLONG, Type.TIMESTAMP):
        return result
    return fitted(result, type_, decimal=False)


def _divided(e: Operation, left: Column, right: Column) -> Column:
    """Truncated towards 0."""
    divisor = e.operands[1]
    known = divisor.value if isinstance(divisor, Constant) else None
    if known not in (None, 0, 1, -1):
        return _quotient(left, right).cast(SPARK_TYPE[e.type])
    if e.type.is_unsigned:
        return _divided_unsigned(e.type, left, right)
    return _divided_signed(e.type, left, right)


def _divided_unsigned(type_: Type, left: Column, right: Column) -> Column:
    """Spark's quotient of decimals is a bigint, which holds all of them unless the divisor is 1."""
    quotient = _quotient(left, F.when(right > 1, right)).cast(SPARK_TYPE[type_])
    return F.when(right == 1, left).otherwise(quotient)


def _divided_signed(type_: Type, left: Column, right: Column) -> Column:
    """The least number divided by -1 leaves the type."""
    safe = F.when((right < -1) | (right > 0), right)
    quotient = F.when(right == -1, F.try_subtract(number(0), long(left)))
    return quotient.otherwise(_quotient(left, safe)).try_cast(SPARK_TYPE[type_])


def _quotient(left: Column, right: Column) -> Column:
    return F.call_function("div", left, right)
