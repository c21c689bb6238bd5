# SPDX-License-Identifier: Apache-2.0
"""UDAFs: sketches where they are still exact, and those of examples/extensions/traffic.gsql."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from tests.answers.reference.aggregates import Aggregate, Positioned
from tests.answers.reference.sql_functions import text
from tests.answers.reference.typed import Typed, cast, settled
from tests.answers.reference.types import NoValueError

Found = Callable[[list[Any], list[Any]], Any]
"""A result of the values of a group, and of the constants of the call."""


def _entropy(counts: Counter[int]) -> float:
    return -sum(count / counts.total() * math.log2(count / counts.total())
                for count in counts.values()) + 0.0  # fmt: skip


def _ranked(values: list[float], rank: float) -> float:
    return sorted(values)[max(1, math.ceil(rank * len(values))) - 1]


def _size_quantile(values: list[int], constants: list[Any]) -> int:
    classes = sorted(value.bit_length() for value in values)
    return (1 << classes[max(1, math.ceil(constants[0] * len(values))) - 1]) - 1


def _hitters(values: list[Any], constants: list[Any]) -> bytes:
    """Texts behind what orders them: of equal counts the lesser value comes first."""
    counts = Counter(values)
    k = max(1, constants[0])
    found = [(value, count) for value, count in counts.items() if count > len(values) // k]
    found.sort(key=lambda each: (-each[1], each[0]))
    return b", ".join(b"%s=%d" % (value[1], count) for value, count in found[:k])


def _share(values: list[Any], constants: list[Any]) -> float:
    """PARTIAL: of no bytes there is none."""
    ports = set(map(int, constants[0].split(b",")))
    total = sum(size for _, size in values)
    listed = sum(size for port, size in values if port in ports)
    if not total:
        raise NoValueError
    return listed / total


def _bits(values: list[int], _: list[Any]) -> int:
    seen = 0
    for value in values:
        seen |= value
    return seen


UDAFS: dict[str, tuple[tuple[str, ...], str, Found]] = {
    "approx_count_distinct": (("",), "ullong", lambda values, _: len(set(values))),
    "median_of": (("float",), "float", lambda values, _: _ranked(values, 0.5)),
    "quantile_of": (("float",), "float", lambda values, given: _ranked(values, given[0])),
    "heavy_hitters": (("text",), "string", _hitters),
    "size_histogram": (("uint",), "ullong", lambda values, _: len(values)),
    "size_quantile": (("uint",), "uint", _size_quantile),
    "size_entropy": (
        ("uint",),
        "float",
        lambda values, _: _entropy(Counter(value.bit_length() for value in values)),
    ),
    "share_of_ports": (("ushort", "uint"), "float", _share),
    "byte_entropy": (
        ("string",),
        "float",
        lambda values, _: _entropy(Counter(byte for value in values for byte in value)),
    ),
    "bits_seen": (("uint",), "uint", _bits),
    "fading": (("uint",), "ullong", lambda values, _: sum(values)),
    "idle": (("uint",), "uint", lambda values, _: 0),
}
"""By name: the types of what varies, of the result, and what computes it."""


def udaf(name: str, arguments: Sequence[Typed], given: Sequence[Any]) -> Aggregate:
    """A call with its constants; rows in which an argument is NULL count for nothing."""
    types, result, compute = UDAFS[name]
    varying = [_read_as(type_, each) for type_, each in zip(types, arguments, strict=False)]
    constants = list(given[len(types) :])

    def read(row: Any) -> Any:
        values = tuple(each(row) for each in varying)
        if any(value is None for value in values):
            return None
        return values[0] if len(values) == 1 else values

    def of(positioned: Sequence[Positioned]) -> Any:
        values = [value for _, value in positioned if value is not None]
        return compute(values, constants) if values else None

    return Aggregate(Typed(result, read), result, of)


def _read_as(type_: str, argument: Typed) -> Callable[[Any], Any]:
    firm = settled(argument)
    if type_ == "text":
        ordered = cast(firm, "INET") if firm.type in ("IP", "IPV6", "INET") else firm
        shown = text(ordered)

        def pair(row: Any) -> Any:
            value = ordered.read(row)
            return None if value is None else (value, shown.read(row))

        return pair
    return cast(firm, type_).read if type_ else firm.read
