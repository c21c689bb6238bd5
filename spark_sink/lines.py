# SPDX-License-Identifier: Apache-2.0
"""Lines that the ends of values lie near: rate * v + something from `least` to `most`.

A value v of `time/60` begins at 60,000,000,000 * v nanoseconds of base time, which is on the line;
one of `time_ms*3` where v/3 is rounded up, which is up to a millisecond above its line.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor

from gigastream.gsql.order import bounds
from gigastream.gsql.order.functions import BoundFunction, Extreme, Leaf, Stepped
from gigastream.gsql.order.inference import Monotone


@dataclass(frozen=True, slots=True)
class LineOfEnds:
    """What an inverse gives of v is rate * v + d, with d from `least` to `most`."""

    rate: Fraction
    least: Fraction
    most: Fraction

    @property
    def granule(self) -> int:
        """How long a value lasts at most."""
        return ceil(self.rate + self.most - self.least)

    @property
    def shortest(self) -> int:
        """How long a value lasts at least."""
        return floor(self.rate + self.least - self.most)

    def distance(self, other: LineOfEnds, ahead: int) -> int:
        """How far the other's v + ahead is behind this one's v at most; of one rate."""
        return ceil(self.rate * ahead + other.most - self.least)

    def times(self, factor: int) -> LineOfEnds:
        return LineOfEnds(self.rate * factor, self.least * factor, self.most * factor)

    def plus(self, least: Fraction | int, most: Fraction | int) -> LineOfEnds:
        return LineOfEnds(self.rate, self.least + least, self.most + most)


def line_of(functions: Sequence[Monotone]) -> LineOfEnds | None:
    """One that the inverses of all of them are near; None where there is none."""
    lines = [inverse_line(function) for function in functions]
    known = [line for line in lines if line is not None]
    if not known or len(known) < len(lines) or len({line.rate for line in known}) > 1:
        return None
    least, most = min(line.least for line in known), max(line.most for line in known)
    return LineOfEnds(known[0].rate, least, most)


def inverse_line(function: Monotone) -> LineOfEnds | None:
    """The line of the inverse of a function of one input."""
    return _line(function.function, LineOfEnds(Fraction(1), Fraction(0), Fraction(0)), -1)


def _line(function: BoundFunction, value: LineOfEnds, number: int) -> LineOfEnds | None:
    part = function.parts[number]
    if isinstance(part, Leaf):
        return value
    if isinstance(part, Stepped):
        inverse = _INVERSES.get(type(part.step))
        if inverse is None:
            return None
        is_positive = function.values((0,))[part.inner] >= 0
        return _line(function, inverse(value, part.step.constant, is_positive), part.inner)
    return _extreme(function, value, part) if isinstance(part, Extreme) else None


def _extreme(function: BoundFunction, value: LineOfEnds, part: Extreme) -> LineOfEnds | None:
    """The inverse of the greater is the lesser of the inverses."""
    pair = [_line(function, value, each) for each in part.over]
    lines = [line for line in pair if line is not None]
    if len(lines) < 2 or lines[0].rate != lines[1].rate:
        return None
    pick: Callable[..., Fraction] = min if part.greatest else max
    return LineOfEnds(lines[0].rate, pick(x.least for x in lines), pick(x.most for x in lines))


# The inverses of bounds.py. None of those that stand still for a time: AtLeast. What a clock cannot
# count is beyond AtMost, and no row.


def _add(v: LineOfEnds, c: int, _: bool) -> LineOfEnds:
    return v.plus(-c, -c)


def _multiply(v: LineOfEnds, c: int, _: bool) -> LineOfEnds:
    """v/c rounded up."""
    part = Fraction(1, c)
    return LineOfEnds(v.rate * part, v.least * part, (v.most + c - 1) * part)


def _divide(v: LineOfEnds, c: int, is_positive: bool) -> LineOfEnds:
    """Below 0 it is rounded up: c * (v - 1) + 1."""
    return v.times(c) if is_positive else v.times(c).plus(1 - c, 0)


def _floor_divide(v: LineOfEnds, c: int, _: bool) -> LineOfEnds:
    return v.times(c)


def _ceiling_divide(v: LineOfEnds, c: int, _: bool) -> LineOfEnds:
    return v.times(c).plus(1 - c, 1 - c)


def _floor_multiple(v: LineOfEnds, c: int, _: bool) -> LineOfEnds:
    return v.plus(0, c - 1)


def _ceiling_multiple(v: LineOfEnds, c: int, _: bool) -> LineOfEnds:
    return v.plus(1 - c, 0)


def _itself(v: LineOfEnds, c: int, _: bool) -> LineOfEnds:
    return v


_INVERSES: dict[type[bounds.Step], Callable[[LineOfEnds, int, bool], LineOfEnds]] = {
    bounds.Add: _add,
    bounds.Multiply: _multiply,
    bounds.Divide: _divide,
    bounds.FloorDivide: _floor_divide,
    bounds.CeilingDivide: _ceiling_divide,
    bounds.FloorMultiple: _floor_multiple,
    bounds.CeilingMultiple: _ceiling_multiple,
    bounds.AtMost: _itself,
}
