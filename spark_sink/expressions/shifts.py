# SPDX-License-Identifier: Apache-2.0
"""`<<` and `>>` by any number of places: Java takes that modulo the width, GSQL does not."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

from gigastream.gsql.expressions import Constant, Operation
from gigastream.gsql.types import Type
from spark_sink.expressions.values import SPARK_TYPE
from spark_sink.expressions.whole_numbers import bits_of, fitted, is_wide, long, number, of_bits


def shifted_left(e: Operation, x: Column, places: Column) -> Column:
    """Times 2^places; NULL where bits would be lost."""
    product = F.try_multiply(x.cast("decimal(20,0)"), _power(e, places))
    return fitted(product, e.type, decimal=True)


def shifted_right(e: Operation, x: Column, places: Column) -> Column:
    """Over 2^places, rounded down."""
    if not is_wide(e.type):
        shifted = F.call_function("shiftright", long(x), _places(e, places, 63))
        return shifted.try_cast(SPARK_TYPE[e.type])
    # in two halves, so that none is the whole width
    count = _places(e, places, 64)
    half = F.shiftright(count, 1)
    first = F.call_function("shiftrightunsigned", bits_of(x), count - half)
    return of_bits(F.call_function("shiftrightunsigned", first, half))


def _places(e: Operation, places: Column, most: int) -> Column:
    """The places as an int, at most so many: more make no difference."""
    known = e.operands[1]
    if isinstance(known, Constant) and known.value is not None:
        return F.lit(min(int(known.value), most)).cast("int")
    limit = number(most, Type.ULLONG)
    # least() would take NULL for no number at all
    return F.when(places > limit, limit).otherwise(places).try_cast("int")


def _power(e: Operation, places: Column) -> Column:
    """2^places as a decimal; beyond 2^63 all are 2^64, which only 0 can be multiplied by."""
    known = e.operands[1]
    if isinstance(known, Constant) and known.value is not None:
        return number(1 << min(int(known.value), 64), Type.ULLONG)
    count = _places(e, places, 64)
    power = of_bits(F.call_function("shiftleft", number(1), count))
    return F.when(count <= 63, power).when(count > 63, number(1 << 64, Type.ULLONG))
