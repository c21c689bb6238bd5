# SPDX-License-Identifier: Apache-2.0
"""Aggregates (GSQL §6): what they give of the values of a group's tuples. NULL counts for none."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from tests.answers.reference.typed import Typed, cast, counted, settled
from tests.answers.reference.types import UNSIGNED, NoValueError, holds

Positioned = tuple[Any, Any]
"""A value behind what orders it: (timestamp, interface, position in the source)."""


@dataclass(frozen=True)
class Aggregate:
    """A call: its argument (None: `count(*)`), its type, and what it gives of the values."""

    argument: Typed | None
    type: str
    result: Callable[[Sequence[Positioned]], Any]
    subtype: str = ""
    over: Callable[[Sequence[Sequence[Positioned]]], Any] | None = None
    """What it gives of a group that goes on: of the values of each window since it began."""


NAMES = frozenset(
    {"count", "sum", "min", "max", "avg", "var", "stddev", "first", "last"}
    | {"and_aggr", "or_aggr", "xor_aggr"}
    | {"moving_sum", "moving_avg", "running_sum", "running_sum_max"}
)


def aggregate(name: str, argument: Typed | None) -> Aggregate:
    """The aggregate of that name."""
    if argument is None:
        return Aggregate(None, "ullong", len)
    firm = settled(argument)
    if name == "count":
        return Aggregate(firm, "ullong", lambda values: len(_values(values)))
    if name in _OF_SAME_TYPE:
        return Aggregate(firm, firm.type, _of_some(_OF_SAME_TYPE[name]), firm.subtype)
    if name in ("sum", "moving_sum", "running_sum", "running_sum_max"):
        return _sum(firm)
    return Aggregate(counted(firm), "float", _of_some(_OF_NUMBERS[name.removeprefix("moving_")]))


def of_distinct(plain: Aggregate) -> Aggregate:
    """DISTINCT: each value once, whichever row has it."""

    def result(values: Sequence[Positioned]) -> Any:
        return plain.result([(place, value) for value, place in {v: p for p, v in values}.items()])

    return replace(plain, result=result)


def _values(positioned: Sequence[Positioned]) -> list[Any]:
    return [value for _, value in positioned if value is not None]


def _of_some(result: Callable[[list[Positioned]], Any]) -> Callable[[Sequence[Positioned]], Any]:
    """NULL where no value is left."""

    def of(positioned: Sequence[Positioned]) -> Any:
        left = [pair for pair in positioned if pair[1] is not None]
        return result(left) if left else None

    return of


def _sum(argument: Typed) -> Aggregate:
    type_ = "float"
    if argument.type != "float":
        type_ = "ullong" if argument.type in UNSIGNED else "llong"

    def total(pairs: list[Positioned]) -> Any:
        if type_ == "float":
            return _as_float(_exact(value for _, value in pairs))
        found = sum(value for _, value in pairs)
        if not holds(type_, found):
            raise NoValueError
        return found

    return Aggregate(cast(argument, type_), type_, _of_some(total))


def _fold(operation: Callable[[Any, Any], Any]) -> Callable[[list[Positioned]], Any]:
    return lambda pairs: functools.reduce(operation, (value for _, value in pairs))


_OF_SAME_TYPE: dict[str, Callable[[list[Positioned]], Any]] = {
    "min": lambda pairs: min(value for _, value in pairs),
    "max": lambda pairs: max(value for _, value in pairs),
    "first": lambda pairs: min(pairs)[1],
    "last": lambda pairs: max(pairs)[1],
    "and_aggr": _fold(operator.and_),
    "or_aggr": _fold(operator.or_),
    "xor_aggr": _fold(operator.xor),
}


def _exact(values: Iterable[Any]) -> Fraction:
    """A sum that rounds nothing, so that it does not depend on the order."""
    return sum(map(Fraction, values), Fraction(0))


def _as_float(value: Fraction) -> float:
    """The nearest float; one that would not be finite is no value."""
    try:
        return float(value)
    except OverflowError:
        raise NoValueError from None


def _average(pairs: list[Positioned]) -> float:
    return _as_float(_exact(value for _, value in pairs) / len(pairs))


def _variance(pairs: list[Positioned]) -> float | None:
    """Of a sample; one value alone has none."""
    if len(pairs) < 2:
        return None
    values = [Fraction(value) for _, value in pairs]
    mean = _exact(values) / len(values)
    return _as_float(_exact((value - mean) ** 2 for value in values) / (len(values) - 1))


def _deviation(pairs: list[Positioned]) -> float | None:
    variance = _variance(pairs)
    return None if variance is None else math.sqrt(variance)


_OF_NUMBERS: dict[str, Callable[[list[Positioned]], Any]] = {
    "avg": _average,
    "var": _variance,
    "stddev": _deviation,
}
