# SPDX-License-Identifier: Apache-2.0
"""How fast a time goes on as base time does: exactly, and whether it ever comes to stand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

from gigastream.gsql.order import bounds
from gigastream.gsql.order.bounds import END
from gigastream.gsql.order.functions import BoundFunction, Extreme, Leaf, Part, Stepped, Sum
from gigastream.plan.base_time import Alternatives

if TYPE_CHECKING:
    from fractions import Fraction

INSTANTS_NS = (1_000_000_000_000_000_000, 4_000_000_000_000_000_000)
"""In the years 2001 and 2096: within what `time` holds."""
_LIVED_NS = (1_000_000_000_000_000_000, 2_000_000_000_000_000_000)
"""From 2001 to 2033: time/1000000000, whose last value comes later, still moves."""
Rate: TypeAlias = "Fraction | None"
"""Ticks in a nanosecond; None where it is not one rate from the first instant to the last.

What is rounded has the rate that it would have unrounded: it is never further from it than by one
unit, whenever that is."""
Values = Sequence[tuple[int, int]]
"""What each part of a function is at the two instants."""


def moves(times: Alternatives, instants_ns: Sequence[int] = _LIVED_NS) -> bool:
    """False for what passes its last value, as UMIN(time, 9) does; of no clock, nobody knows."""
    return all(
        function.inverse(min(function.forward(at) + 1, END)) < END
        for function in times
        for at in instants_ns
    )


def rate_of(function: BoundFunction) -> Rate:
    """The rate of a function of base time."""
    first, last = (function.values((at,)) for at in INSTANTS_NS)
    values = list(zip(first, last, strict=True))
    rates: list[Rate] = []
    for part in function.parts:
        rates.append(_rate(part, rates, values))
    return rates[-1]


def _ratio(above: int, below: int = 1) -> Fraction:
    """A rate. Only joins have any, and loading fractions takes longer than planning them."""
    from fractions import Fraction

    return Fraction(above, below)


def _rate(part: Part, rates: Sequence[Rate], values: Values) -> Rate:
    if isinstance(part, Leaf):
        return _ratio(1)
    over = [rates[number] for number in part.over]
    known = [rate for rate in over if rate is not None]
    if len(known) < len(over):
        return None
    if isinstance(part, Stepped):
        return _of_step(part.step, known[0], values[part.inner])
    if isinstance(part, Sum):
        return known[0] + known[1]
    assert isinstance(part, Extreme)
    return _of_extreme(part, (known[0], known[1]), values)


def _of_extreme(part: Extreme, rates: tuple[Fraction, Fraction], values: Values) -> Rate:
    """What is straight, and ahead at both ends, is ahead between them."""
    if rates[0] == rates[1]:
        return rates[0]
    left, right = values[part.left], values[part.right]
    if left[0] >= right[0] and left[1] >= right[1]:
        return rates[0] if part.greatest else rates[1]
    if left[0] <= right[0] and left[1] <= right[1]:
        return rates[1] if part.greatest else rates[0]
    return None


def _of_step(step: bounds.Step, inner: Fraction, ends: tuple[int, int]) -> Rate:
    if isinstance(step, bounds.AtLeast):
        return _of_limit(
            inner, has_passed=ends[0] >= step.constant, is_held=ends[1] <= step.constant
        )
    if isinstance(step, bounds.AtMost):
        return _of_limit(
            inner, has_passed=ends[1] <= step.constant, is_held=ends[0] >= step.constant
        )
    scale = _SCALES.get(type(step))
    return None if scale is None else inner * scale(step.constant)


def _of_limit(inner: Fraction, *, has_passed: bool, is_held: bool) -> Rate:
    if has_passed:
        return inner
    return _ratio(0) if is_held else None


_SCALES: dict[type[bounds.Step], Callable[[int], Fraction]] = {
    bounds.Add: lambda c: _ratio(1),
    bounds.Multiply: _ratio,
    bounds.Divide: lambda c: _ratio(1, c),
    bounds.FloorDivide: lambda c: _ratio(1, c),
    bounds.CeilingDivide: lambda c: _ratio(1, c),
    bounds.FloorMultiple: lambda c: _ratio(1),
    bounds.CeilingMultiple: lambda c: _ratio(1),
}
"""A reciprocal has no rate."""
