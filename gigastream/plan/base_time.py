# SPDX-License-Identifier: Apache-2.0
"""Temporal columns as functions of one base attribute: the packet's time.

Every clock of the low level is a function of the packet's timestamp, and so is every expression of
clocks further up. The spool keeps bounds as the base time that they amount to, and Spark, which has
one watermark, asks when in base time a group is over (OPERATORS section 1: g(v+1)).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product
from math import prod
from typing import TYPE_CHECKING

from gigastream.gsql.order.bounds import END, NONE
from gigastream.gsql.order.inference import Monotone, distinct

if TYPE_CHECKING:
    from gigastream.plan.operators.low_node import LowNode
    from gigastream.plan.operators.output import Output
    from gigastream.plan.plan import Plan

Alternatives = tuple[Monotone, ...]
"""A column as functions of base time: several where a union brings several streams together; none
where it is not temporal, of no clock, or of more than MAX_WAYS."""
BaseTimes = tuple[Alternatives, ...]
"""One for each column of a node."""
MAX_WAYS = 64
"""Two columns of a union may be combined in all ways of both: each query of a chain over it would
square their number."""


def base_bound(node: LowNode, bounds: Sequence[int]) -> int:
    """The base time in ns below which no later packet of the stream is, from its columns' bounds.

    NONE (-2^63) where no column is temporal, or nothing is promised yet.
    """
    carried = zip(node.bounds, bounds, strict=True)
    return max((f.inverse(bound) for f, bound in carried if f is not None), default=NONE)


def bounds_at(node: LowNode, base_ns: int) -> tuple[int, ...]:
    """The bounds of a stream's columns where no later packet is below this base time."""
    return tuple(NONE if f is None else f.forward(base_ns) for f in node.bounds)


def promised(columns: BaseTimes, bounds: Sequence[int]) -> int:
    """The base time in ns below which a node puts out nothing more, from its columns' bounds.

    NONE where no column is temporal, or nothing is promised yet.
    """
    carried = zip(columns, bounds, strict=False)
    reached = (min(f.inverse(bound) for f in ways) for ways, bound in carried if ways)
    return max(reached, default=NONE)


def base_times(plan: Plan) -> dict[str, BaseTimes]:
    """For each node but the outputs, by name, its columns as functions of base time."""
    found: dict[str, BaseTimes] = {}
    for node in plan.nodes:
        if not node.is_output:
            found[node.name] = node.base_times([found[child.name] for child in node.inputs])
    return found


def column_times(plan: Plan, output: Output, place: int) -> Alternatives:
    """A column of an output as functions of base time."""
    return base_times(plan)[output.input.name][place]


def reached_before(bound: int, column: Alternatives, other: Alternatives) -> int:
    """The bound of another column just before this one reaches its own, of any way in which it can.

    Where both are the same, or not known as functions of base time, it is this one's.
    """
    if set(column) == set(other) or not column or not other:
        return bound
    base_ns = min(way.inverse(bound) for way in column)
    if not NONE < base_ns < END:
        return bound
    return max(way.forward(base_ns - 1) for way in other) + 1


def through(functions: Iterable[Monotone | None], inputs: Sequence[BaseTimes]) -> BaseTimes:
    """Functions of the columns of inputs as ones of base time."""
    return tuple(_through(function, inputs) for function in functions)


def _through(function: Monotone | None, inputs: Sequence[BaseTimes]) -> Alternatives:
    """One of them, for each way in which the columns are that."""
    if function is None:
        return ()
    columns = [inputs[item.port][item.index] for item in function.inputs]
    if prod(map(len, columns)) > MAX_WAYS:
        return ()
    return distinct(function.of(way) for way in product(*columns))


def joined(parts: Sequence[BaseTimes]) -> BaseTimes:
    """Where rows of any part may come: a column is temporal if it is so in every part."""
    return tuple(_joined(alternatives) for alternatives in zip(*parts, strict=True))


def _joined(alternatives: tuple[Alternatives, ...]) -> Alternatives:
    if not all(alternatives) or len({f.temporal for each in alternatives for f in each}) > 1:
        return ()
    found = distinct(function for each in alternatives for function in each)
    return found if len(found) <= MAX_WAYS else ()
