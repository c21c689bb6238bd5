# SPDX-License-Identifier: Apache-2.0
"""Aggregates (GSQL §6): what they give of the values of a group's tuples. NULL counts for none."""

from __future__ import annotations

import functools
import itertools
import math
import operator
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from tests.answers.reference.sql_functions import text
from tests.answers.reference.typed import Typed, cast, counted, settled
from tests.answers.reference.types import UNSIGNED, NoValueError, holds
from tests.models.subset_sum import flow_weight

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
    {"count", "sum", "min", "max", "avg", "var", "stddev", "first", "last", "any_value"}
    | {"arg_min", "arg_max"}
    | {"mode", "histogram", "string_agg", "array_agg", "cat_aggr", "count_diff"}
    | {"and_aggr", "or_aggr", "xor_aggr"}
    | {"sum$", "flow_weight"}
    | {"approx_count_distinct", "median_of", "quantile_of", "heavy_hitters"}
    | {"size_histogram", "size_quantile", "size_entropy", "share_of_ports", "byte_entropy"}
    | {"bits_seen", "fading", "idle"}
    | {"time_avg", "moving_sum", "moving_avg", "running_sum", "running_sum_max"}
)


def aggregate(name: str, argument: Typed | None) -> Aggregate:
    """The aggregate of that name."""
    if argument is None:
        return Aggregate(None, "ullong", len)
    if name == "time_avg":
        return Aggregate(argument, "float", len)
    if name == "flow_weight":
        return Aggregate(argument, "float", _flow_weight)
    firm = settled(argument)
    if name == "count":
        return Aggregate(firm, "ullong", lambda values: len(_values(values)))
    if name == "count_diff":
        return Aggregate(firm, "ullong", _changes)
    if name in _OF_TEXTS:
        texts = firm if firm.type == "string" else text(firm)
        return Aggregate(texts, "string", _of_some(_OF_TEXTS[name]))
    if name in _OF_SAME_TYPE:
        subtype = "" if name.endswith("_aggr") else firm.subtype
        return Aggregate(firm, firm.type, _of_some(_OF_SAME_TYPE[name]), subtype)
    if name in ("sum", "sum$", "moving_sum", "running_sum", "running_sum_max"):
        return _sum(firm)
    return Aggregate(counted(firm), "float", _of_some(_OF_NUMBERS[name.removeprefix("moving_")]))


def _changes(positioned: Sequence[Positioned]) -> int:
    """How often a value is another one than before, in the order of rows; the first one is."""
    values = [value for _, value in sorted(pair for pair in positioned if pair[1] is not None)]
    return sum(at == 0 or value != values[at - 1] for at, value in enumerate(values))


LIST_BYTES = 4096


def _within(texts: Sequence[bytes], separator: bytes) -> bytes:
    """Of texts as many as there is room for; how many there are beyond."""
    ends = itertools.accumulate(max(1, len(one) + len(separator)) for one in texts)
    kept = sum(1 for _ in itertools.takewhile(lambda end: end <= LIST_BYTES, ends))
    more = [f"… {len(texts) - kept} more".encode()] if kept < len(texts) else []
    return separator.join([*texts[:kept], *more])


def _in_order(pairs: list[Positioned], separator: bytes) -> bytes:
    return _within([value for _, value in sorted(pairs)], separator)


def _histogram(pairs: list[Positioned]) -> bytes:
    counts = Counter(value for _, value in pairs).items()
    ranked = sorted(counts, key=lambda item: (-item[1], item[0]))
    return _within([b"%s=%d" % item for item in ranked], b", ")


_OF_TEXTS: dict[str, Callable[[list[Positioned]], Any]] = {
    "histogram": _histogram,
    "array_agg": lambda pairs: b"[" + _in_order(pairs, b", ") + b"]",
}


def separated(argument: Typed, separator: Typed) -> Aggregate:
    """string_agg, and cat_aggr with its arguments turned round."""
    firm, between = settled(argument), separator.constant
    assert isinstance(between, bytes)
    texts = firm if firm.type == "string" else text(firm)
    return Aggregate(texts, "string", _of_some(lambda pairs: _in_order(pairs, between)))


def _mode(pairs: list[Positioned]) -> Any:
    counts = Counter(value for _, value in pairs)
    return min(value for value, count in counts.items() if count == max(counts.values()))


AT_EXTREME = {"arg_min": min, "arg_max": max}


def at_extreme(name: str, argument: Typed, by: Typed) -> Aggregate:
    """The first value of those rows in which another is the least, or the greatest."""
    firm, order = settled(argument), settled(by)

    def read(row: Any) -> Any:
        key = order.read(row)
        value = None if key is None else firm.read(row)
        return None if value is None else (key, value)

    def result(pairs: list[Positioned]) -> Any:
        wanted = AT_EXTREME[name](key for _, (key, _) in pairs)
        return min((place, value) for place, (key, value) in pairs if key == wanted)[1]

    return Aggregate(Typed(firm.type, read), firm.type, _of_some(result), firm.subtype)


def of_distinct(plain: Aggregate) -> Aggregate:
    """DISTINCT: each value once, whichever row has it."""

    def result(values: Sequence[Positioned]) -> Any:
        return plain.result([(place, value) for value, place in {v: p for p, v in values}.items()])

    return replace(plain, result=result)


def _flow_weight(positioned: Sequence[Positioned]) -> float:
    return flow_weight([pair for pair in _values(positioned) if None not in pair])


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
    "mode": _mode,
    "any_value": lambda pairs: min(pairs)[1],
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
