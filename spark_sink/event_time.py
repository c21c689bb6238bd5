# SPDX-License-Identifier: Apache-2.0
"""When a group is over, as Spark's event time.

Spark has one watermark, which heartbeats move in base time. A value v of a temporal column ends at
the base instant g(v+1), g being the inverse of the column as a function of base time (OPERATORS
section 1), so that `time/60` and `time` live under that one watermark. Spark emits a group whose
event time is at or below the watermark; both are whole milliseconds here, the event time rounded up
and the watermark down, so that no group leaves early.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import Column
from pyspark.sql import functions as F

from gigastream.gsql.order import bounds
from gigastream.gsql.order.bounds import END, NONE
from gigastream.gsql.order.functions import BoundFunction, Extreme, Leaf, Part, Stepped
from gigastream.gsql.order.inference import Monotone
from gigastream.gsql.types import Temporal
from gigastream.plan.base_time import Alternatives
from spark_sink.expressions.binding import computed

COLUMN = "_event_time"
END_MS = 253_402_300_799_000
"""9999-12-31T23:59:59Z: the end of all streams."""
METADATA = {"spark.watermarkDelayMs": 0}
"""What makes a column event time without a watermark of its own."""
MAX_PATHS = 64
"""Unlike a bound, an inverse is asked anew on each way down to base time: written out it doubles
with every query that takes the greater of two functions of one time."""
_NS_PER_MS = 1_000_000
_NEAR_END = END - (1 << 56)
"""Two years before what 63 bits of nanoseconds hold."""


@dataclass(frozen=True, slots=True)
class HeldTime:
    """A time of a row of a join (bigint), and what relates it to the other side's."""

    value: Column
    own: Alternatives
    others: Alternatives
    """What the other side's time is of base time."""
    ahead: int
    """How far ahead a value of the other side can be that it matches."""


def has_event_time(alternatives: Alternatives) -> bool:
    """True if the end of a value of such a column can be written as a Spark expression."""
    return bool(alternatives) and all(_is_invertible(each.function) for each in alternatives)


def event_time(values: Sequence[tuple[Column, Alternatives]]) -> Column:
    """The event time of a group, of its temporal values (bigint) and what they are of base time.

    It leaves as soon as one of them is passed; a value that rows of several streams may have is
    passed once it is in all of them. Without temporal values it is the end of the stream.
    """
    ends = [_of_all([_end(value, f) for f in functions]) for value, functions in values]
    if not ends:
        return F.timestamp_millis(F.lit(END_MS)).alias(COLUMN, metadata=METADATA)
    first = ends[0] if len(ends) == 1 else F.least(*ends)
    return F.timestamp_millis(_milliseconds(first)).alias(COLUMN, metadata=METADATA)


def is_over(values: Sequence[tuple[Column, Alternatives]], base_ns: int) -> Column:
    """Whether the event time of a group is at or below an instant of base time.

    That is so of values below what base time has come to in their column: of a batch, which knows
    the instant, Spark compares with numbers and computes no event time, row by row.
    """
    passed = [
        reduce(Column.__and__, [as_held(v, f.temporal) < _long(f.forward(base_ns)) for f in ways])
        for v, ways in values
    ]
    return reduce(Column.__or__, passed) if passed else F.lit(False)


def held_until(times: Sequence[HeldTime], name: str) -> Column:
    """The event time of a row of a join: from when on no row that it matches can come.

    Any of its times that is passed lets it go. It is not before the row's own time is over, so that
    no row is too late for it; NULL where a time is.
    """
    ends = [_of_all(_held_ends(time)) for time in times]
    first = ends[0] if len(ends) == 1 else F.least(*ends)
    there = reduce(Column.__and__, [time.value.isNotNull() for time in times])
    return F.when(there, F.timestamp_millis(_milliseconds(first))).alias(name, metadata=METADATA)


def _held_ends(time: HeldTime) -> list[Column]:
    own = [_end(time.value, function) for function in time.own]
    return own + [_end(time.value, function, max(0, time.ahead)) for function in time.others]


def _of_all(ends: list[Column]) -> Column:
    return ends[0] if len(ends) == 1 else F.greatest(*ends)


def _end(value: Column, function: Monotone, ahead: int = 0) -> Column:
    """g(v + ahead + 1) in ns."""
    beyond = min(ahead + 1, END)
    held = as_held(value, function.temporal)
    return _inverse(function.function, _within(held, NONE, END - beyond) + _long(beyond))


def as_held(value: Column, temporal: Temporal) -> Column:
    """A bigint of a column that decreases as its negative: it rises (OPERATORS section 1)."""
    return -_within(value, NONE + 1, END) if temporal is Temporal.DECREASING else value


def moved(held: Column, by: int) -> Column:
    """A bigint some way ahead, or behind; it stops at the ends of 64 bits."""
    by = max(-END, min(by, END))
    return _within(held, NONE - min(by, 0), END - max(by, 0)) + _long(by)


def _milliseconds(ns: Column) -> Column:
    return computed(lambda operands: _rounded_up(operands[0]), [ns])


def _rounded_up(ns: Column) -> Column:
    """An event time in milliseconds that is not above the watermark is in fact passed by it."""
    return F.when(_is_end(ns), _long(END_MS)).otherwise(_ceiling(ns, _NS_PER_MS))


# Inverses, step by step: gigastream/gsql/order/bounds.py in Spark's arithmetic


def _is_invertible(function: BoundFunction) -> bool:
    return all(map(_has_inverse, function.parts)) and _paths(function) <= MAX_PATHS


def _has_inverse(part: Part) -> bool:
    if isinstance(part, Stepped):
        return type(part.step) in _INVERSES
    return isinstance(part, Extreme | Leaf)


def _paths(function: BoundFunction) -> int:
    """How often base time stands in the function written out, and its inverse in the end."""
    counts: list[int] = []
    for part in function.parts:
        counts.append(sum(counts[number] for number in part.over) or 1)
    return counts[-1]


def _inverse(function: BoundFunction, value: Column, number: int = -1) -> Column:
    """The inverse of a part, the last if none is named."""
    part = function.parts[number]
    if isinstance(part, Stepped):
        return _inverse(function, _step_inverse(part.step, value), part.inner)
    if isinstance(part, Leaf):
        return value
    assert isinstance(part, Extreme)
    pair = [_inverse(function, value, each) for each in part.over]
    # max(f, g) >= v as soon as one of them is, min(f, g) >= v once both are
    return F.least(*pair) if part.greatest else F.greatest(*pair)


def _step_inverse(step: bounds.Step, value: Column) -> Column:
    if step.is_identity:
        return value
    inverse = _INVERSES[type(step)]
    # most name it twice, which a chain of them would double and double
    return computed(lambda operands: inverse(operands[0], step.constant), [value])


def _add(v: Column, c: int) -> Column:
    return F.when(_is_end(v), _long(END)).otherwise(_within(v, NONE + c, END + c) - c)


def _multiply(v: Column, c: int) -> Column:
    return _ceiling(v, c)


def _divide(v: Column, c: int) -> Column:
    """The inverse is c * v above 0, c * (v - 1) + 1 at and below it."""
    return _times(v, c) - (v <= 0).cast("bigint") * (c - 1)


def _floor_divide(v: Column, c: int) -> Column:
    return _times(v, c)


def _ceiling_divide(v: Column, c: int) -> Column:
    return _times(_within(v, NONE + 1, END) - 1, c) + 1


def _floor_multiple(v: Column, c: int) -> Column:
    return _times(_ceiling(v, c), c)


def _ceiling_multiple(v: Column, c: int) -> Column:
    return _ceiling_divide(_ceiling(v, c), c)


def _at_least(v: Column, c: int) -> Column:
    return F.when(v <= c, _long(NONE)).otherwise(v)


def _at_most(v: Column, c: int) -> Column:
    return F.when(v > c, _long(END)).otherwise(v)


_INVERSES: dict[type[bounds.Step], Callable[[Column, int], Column]] = {
    bounds.Add: _add,
    bounds.Multiply: _multiply,
    bounds.Divide: _divide,
    bounds.FloorDivide: _floor_divide,
    bounds.CeilingDivide: _ceiling_divide,
    bounds.FloorMultiple: _floor_multiple,
    bounds.CeilingMultiple: _ceiling_multiple,
    bounds.AtLeast: _at_least,
    bounds.AtMost: _at_most,
}
"""Reciprocals are left out: nobody opens windows by 1/t."""

# Arithmetic of 64 bits that stops near its ends instead of leaving them. What is that far away in
# time waits for the end of the stream.


def _is_end(ns: Column) -> Column:
    return ns >= _NEAR_END


def _times(value: Column, factor: int) -> Column:
    # a factor less from the ends, so that what is then added stays within them
    return _within(value, -(END // factor) + 1, END // factor - 1) * factor


def _within(value: Column, least: int, greatest: int) -> Column:
    return F.least(F.greatest(value, _long(max(least, NONE))), _long(min(greatest, END)))


def _long(value: int) -> Column:
    return F.lit(value).cast("bigint")


def _quotient(value: Column, divisor: int) -> Column:
    """Truncated towards zero."""
    return F.call_function("div", value, _long(divisor))


def _ceiling(value: Column, divisor: int) -> Column:
    """Rounded up; the divisor is above 0."""
    return _quotient(value, divisor) + (value % _long(divisor) > 0).cast("bigint")
