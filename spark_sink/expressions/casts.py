# SPDX-License-Identifier: Apache-2.0
"""Conversions between types: what the target cannot hold becomes NULL, which is no value."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

from gigastream.gsql.expressions import Cast
from gigastream.gsql.types import Type
from spark_sink.expressions.addresses import is_mapped, mapped, unmapped
from spark_sink.expressions.values import SPARK_TYPE
from spark_sink.expressions.whole_numbers import fitted, is_wide, long, number


def converted(e: Cast, x: Column) -> Column:
    """`x` in the type of the cast."""
    from_, to = e.operand.type, e.type
    if from_ is to:
        return x
    if from_.is_address and to.is_address:
        return _address(from_, to, x)
    if to is Type.BOOL:
        return x != 0
    if to is Type.FLOAT:
        return x.cast("double")
    if from_ is Type.FLOAT:
        return _of_float(to, x)
    return _whole(from_, to, x, checked=e.checked)


def _address(from_: Type, to: Type, x: Column) -> Column:
    if from_ is Type.IP:
        return mapped(x)
    if to is Type.IP:
        return unmapped(x)
    return x if to is Type.INET else F.when(~is_mapped(x), x)


def _whole(from_: Type, to: Type, x: Column, *, checked: bool) -> Column:
    if not checked:
        return x.try_cast(SPARK_TYPE[to])
    if is_wide(from_):
        return fitted(x, to, decimal=True)
    return fitted(long(x), to, decimal=False)


def _of_float(to: Type, x: Column) -> Column:
    """Cut towards 0."""
    if is_wide(to):
        return _ullong_of_float(x)
    whole = _long_of_float(x)
    return whole if to in (Type.LLONG, Type.TIMESTAMP) else fitted(whole, to, decimal=False)


def _long_of_float(x: Column) -> Column:
    """Spark makes 2^63 - 1 of the float 2^63; no float is that number, so it is cast out."""
    return F.try_subtract(x.try_cast("bigint"), number(-1)) - number(1)


def _ullong_of_float(x: Column) -> Column:
    half = 1 << 63
    upper = _long_of_float(x - float(half)).cast("decimal(20,0)") + number(half, Type.ULLONG)
    whole = F.coalesce(_long_of_float(x).cast("decimal(20,0)"), upper)
    return fitted(whole, Type.ULLONG, decimal=True)
