# SPDX-License-Identifier: Apache-2.0
"""VAR and STDDEV on Spark: six exact sums, whatever is merged in which order.

x is high * 2^32 + low, and kept are the sums of both, of their products, and the number of rows.
Spark adds them up as they come, in a state that does not grow. Above a group a number near its mean
is taken from all of them, which is exact too, and leaves what is small: the squares of times, all
of which lie close together, keep their digits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from gigastream.gsql.types import Type
from spark_sink.expressions.binding import bound
from spark_sink.expressions.whole_numbers import bits_of

if TYPE_CHECKING:
    from pyspark.sql import Column

    from gigastream.plan.accumulators import Accumulator

_LOW_BITS = 32
_BASE = 1 << _LOW_BITS


def of_rows(x: Sequence[Column], accumulator: Accumulator) -> Column:
    """The sums over plain rows."""
    high, low = map(_exact, _halves(x[0], accumulator.type))
    return _sums(F.count(x[0]), high, low, high * high, high * low, low * low)


def of_partial_rows(x: Sequence[Column], accumulator: Accumulator) -> Column:
    """The sums over partial rows: n values x = o + d have the sums s of d and q of d squared.

    The sum of x squared is n o^2 + 2 o s + q, with o in its halves; q, of 128 bits, in two as well.
    """
    n, origin, s, *squares = x
    n, s, q_low, q_high = map(_exact, (n, s, *squares))
    high, low = map(_exact, _halves(origin, accumulator.type))
    n_high, n_low = n * high, n * low
    return _sums(
        F.sum(n),
        n_high,
        n_low + s,
        n_high * high + q_high,
        n_high * low + high * s,
        n_low * low + 2 * low * s + q_low,
    )


def _sums(n: Column, *rows: Column) -> Column:
    named = [_exact(F.sum(_exact(row))).alias(name) for name, row in zip(_NAMES, rows, strict=True)]
    return F.struct(_exact(n).alias("n"), *named)


_NAMES = ("high", "low", "high_high", "high_low", "low_low")


def variance(sums: Column, type_: Type) -> Column:
    """Of the values, not of all that they stand for: over n - 1; NULL of less than two."""
    return bound(lambda held: _variance(held, type_), sums)


def _variance(sums: Column, type_: Type) -> Column:
    n, high, low = (sums.getField(name) for name in ("n", *_NAMES[:2]))
    total = high * _exact(F.lit(_BASE)) + low
    near = F.try_divide(total, n).cast("decimal(20,0)")
    squares = bound(lambda at: _squares_around(sums, *map(_exact, _halves(at, type_))), near)
    left = (total - n * _exact(near)).cast("double")
    return F.when(n > 1, (squares - left * left / n.cast("double")) / (n - 1).cast("double"))


def _squares_around(sums: Column, a: Column, b: Column) -> Column:
    """The sum of squared differences from a * 2^32 + b, rounded once where 126 bits hold it."""
    n, high, low, high_high, high_low, low_low = (sums.getField(name) for name in ("n", *_NAMES))
    first = _exact(high_high - 2 * a * high + n * a * a)
    middle = _exact(high_low - a * low - b * high + n * a * b)
    last = _exact(low_low - 2 * b * low + n * b * b)
    return bound(_put_together, first, middle, last)


def _put_together(first: Column, middle: Column, last: Column) -> Column:
    base = F.lit(_BASE)
    upper = F.try_add(F.try_multiply(first, base), 2 * middle)
    exact = F.try_add(F.try_multiply(upper, base), last).cast("double")
    parts = [part.cast("double") for part in (first, middle, last)]
    return F.coalesce(exact, parts[0] * 2.0**64 + parts[1] * 2.0**33 + parts[2])


def _halves(x: Column, type_: Type) -> tuple[Column, Column]:
    """The bits above the lowest 32, with the sign, and those."""
    bits = bits_of(x) if type_ is Type.ULLONG else x.cast("bigint")
    shift = F.shiftrightunsigned if type_ is Type.ULLONG else F.shiftright
    return shift(bits, _LOW_BITS), bits.bitwiseAND(F.lit(_BASE - 1))


def _exact(x: Column) -> Column:
    return x.cast("decimal(38,0)")
