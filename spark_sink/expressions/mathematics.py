# SPDX-License-Identifier: Apache-2.0
"""The functions of numbers. What is not finite is NULL where the function is partial.

sqrt, fmod and the roundings are exact. exp, log, log2, log10 and pow are Java's, which may differ
from C's in the last digit.
"""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import Column
from pyspark.sql import functions as F

from gigastream.gsql.types import Type
from spark_sink.expressions.comparisons import compared
from spark_sink.expressions.whole_numbers import long, number, of_bits

_INFINITY = float("inf")


def finite(compute: Callable[..., Column]) -> Callable[..., Column]:
    """A function whose result is NULL where it is no finite number."""

    def checked(*arguments: Column) -> Column:
        result = compute(*arguments)
        # NaN is above all numbers for Spark
        return F.when(F.abs(result) < _INFINITY, result)

    return checked


def log2(x: Column) -> Column:
    """Exact for powers of two, which a quotient of logarithms is not."""
    quotient = F.log2(x)
    near = F.rint(quotient)
    return F.when(F.pow(F.lit(2.0), near) == x, near).otherwise(quotient)


def floor(x: Column) -> Column:
    """Spark's own gives a bigint, which has no place for what is greater."""
    near = F.rint(x)
    return F.when(near > x, near - 1).otherwise(near)


def ceil(x: Column) -> Column:
    """By floor, so that -0.5 gives -0."""
    return F.negate(floor(F.negate(x)))


def trunc(x: Column) -> Column:
    """Towards 0; the sign stays with a 0."""
    return F.signum(x) * floor(F.abs(x))


def round_(x: Column) -> Column:
    """Halves away from 0; rint takes them to the even neighbour."""
    size = F.abs(x)
    near = F.rint(size)
    return F.signum(x) * F.when(size - near == 0.5, near + 1).otherwise(near)


def absolute_llong(x: Column) -> Column:
    """NULL for the least one."""
    return F.when(x < 0, F.try_subtract(number(0), x)).otherwise(x)


def absolute_int(x: Column) -> Column:
    """An llong, which holds that of the least int."""
    return F.abs(long(x))


def pack(high: Column, low: Column) -> Column:
    """Two numbers of 32 bits as one key."""
    return of_bits(F.shiftleft(high, 32).bitwiseOR(low))


def lesser(type_: Type) -> Callable[[Column, Column], Column]:
    """UMIN: `y < x ? y : x`, and NULL over NULL, which Spark's least would pass over."""

    def build(x: Column, y: Column) -> Column:
        return _second_if(compared("<", type_, y, x), x, y)

    return build


def greater(type_: Type) -> Callable[[Column, Column], Column]:
    """UMAX: `x < y ? y : x`."""

    def build(x: Column, y: Column) -> Column:
        return _second_if(compared("<", type_, x, y), x, y)

    return build


def _second_if(condition: Column, x: Column, y: Column) -> Column:
    return F.when(condition, y).when(~condition, x)
