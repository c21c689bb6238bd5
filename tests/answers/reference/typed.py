# SPDX-License-Identifier: Apache-2.0
"""An expression whose type is known, and how it moves with time (GSQL §5)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from tests.answers.reference.types import NoValueError, Value, alone, convert, holds, is_whole

CONSTANT, VARYING = "constant", "varying"
INCREASING, DECREASING = "increasing", "decreasing"
FLIPPED = {INCREASING: DECREASING, DECREASING: INCREASING}


@dataclass(frozen=True)
class Typed:
    """An expression over a row. `number` is a whole number that takes the type of what it meets."""

    type: str
    read: Callable[[Any], Value]
    order: str = VARYING
    constant: Value = None
    subtype: str = ""
    """`mac` where a column of that kind is passed on as it is."""
    clock: str = ""
    """`s` or `ms` where a column that counts them is passed on as it is."""

    @property
    def is_loose(self) -> bool:
        """Whether it is a whole number without a type of its own."""
        return self.type == "number"

    @property
    def is_temporal(self) -> bool:
        """Whether it moves in one direction."""
        return self.order in FLIPPED


def constant(type_: str, value: Value) -> Typed:
    """A constant."""
    return Typed(type_, lambda row: value, CONSTANT, value)


def settled(typed: Typed) -> Typed:
    """The expression with a type of its own."""
    if not typed.is_loose:
        return typed
    assert isinstance(typed.constant, int)
    return constant(alone(typed.constant), typed.constant)


def loose_in(typed: Typed, other: str) -> str | None:
    """The type of what a loose number meets, if that holds it."""
    if not (typed.is_loose and is_whole(other)):
        return None
    assert isinstance(typed.constant, int)
    return other if holds(other, typed.constant) else None


def cast(typed: Typed, type_: str) -> Typed:
    """The expression in another type, value by value."""
    if typed.type == type_:
        return typed
    firm = settled(typed)
    if firm.type == type_:
        return firm
    if firm.order == CONSTANT and firm.constant is not None and _fits(firm, type_):
        return constant(type_, convert(firm.constant, firm.type, type_))
    keeps = is_whole(type_) or type_ == "timestamp"
    is_kept = keeps and firm.is_temporal and (is_whole(firm.type) or firm.type == "timestamp")
    order = firm.order if is_kept or firm.order == CONSTANT else VARYING
    return Typed(type_, lambda row: convert(firm.read(row), firm.type, type_), order)


def _fits(firm: Typed, type_: str) -> bool:
    try:
        convert(firm.constant, firm.type, type_)
    except NoValueError:
        return False
    return True


def counted(typed: Typed) -> Typed:
    """A timestamp as its nanoseconds; everything else as it is."""
    return cast(typed, "llong") if typed.type == "timestamp" else typed


def has_time(typed: Typed, value: Value) -> bool:
    """Whether punctuation, of 64 signed bits, can be above a value: of one that falls its negative.

    What waits for its time to pass would wait for the end, and so it is no value.
    """
    if not typed.is_temporal or value is None:
        return True
    assert isinstance(value, int)
    return holds("llong", value) and (typed.order == INCREASING or holds("llong", -value))


def timed(typed: Typed) -> Typed:
    """The expression where rows wait for its time to pass."""

    def read(row: Any) -> Value:
        value = typed.read(row)
        if not has_time(typed, value):
            raise NoValueError
        return value

    return replace(typed, read=read) if typed.is_temporal else typed


def without_order(typed: Typed) -> Typed:
    """`non_temporal(x)`."""
    return replace(settled(typed), order=VARYING, constant=None)


def at(index: int) -> Callable[[Any], Any]:
    """What reads a column of a row by its place."""
    return lambda row: row[index]


def passed_on(typed: Typed, index: int) -> Typed:
    """A column of a row that holds the values of an expression."""
    order = typed.order if typed.is_temporal else VARYING
    clock = typed.clock if typed.is_temporal else ""
    return Typed(typed.type, at(index), order, subtype=typed.subtype, clock=clock)
