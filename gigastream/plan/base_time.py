# SPDX-License-Identifier: Apache-2.0
"""Temporal columns as functions of one base attribute: the packet's time.

Every clock of the low level is a function of the packet's timestamp, and so is every expression of
clocks further up. The spool keeps bounds as the base time that they amount to, and Spark, which has
one watermark, asks when in base time a group is over (OPERATORS section 1: g(v+1)).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product

from gigastream.gsql.order.bounds import NONE
from gigastream.gsql.order.inference import Input, Monotone, monotone
from gigastream.plan.nodes import (
    Aggregate,
    Limit,
    LowNode,
    Node,
    OrderLimit,
    Output,
    Plan,
    Select,
    Union,
)

Alternatives = tuple[Monotone, ...]
"""A column as functions of base time: several where a union brings several streams together; none
where it is not temporal, or of no clock."""
BaseTimes = tuple[Alternatives, ...]
"""One for each column of a node."""


def base_bound(node: LowNode, bounds: Sequence[int]) -> int:
    """The base time in ns below which no later packet of the stream is, from its columns' bounds.

    NONE (-2^63) where no column is temporal, or nothing is promised yet.
    """
    carried = zip(node.bounds, bounds, strict=True)
    return max((f.inverse(bound) for f, bound in carried if f is not None), default=NONE)


def base_times(plan: Plan) -> dict[str, BaseTimes]:
    """For each node but the outputs, by name, its columns as functions of base time."""
    found: dict[str, BaseTimes] = {}
    for node in plan.nodes:
        if not isinstance(node, Output):
            found[node.name] = _of_node(node, found)
    return found


def group_times(node: Aggregate, found: Mapping[str, BaseTimes]) -> BaseTimes:
    """The same for the group variables of an aggregation."""
    columns = found[node.input.name]
    return tuple(_through(monotone(group.expression), columns) for group in node.groups)


def _of_node(node: Node, found: Mapping[str, BaseTimes]) -> BaseTimes:
    if isinstance(node, LowNode):
        return tuple(() if function is None else (function,) for function in node.bounds)
    if isinstance(node, Select):
        return tuple(_through(function, found[node.input.name]) for function in node.bounds)
    if isinstance(node, Aggregate):
        groups = group_times(node, found)
        return tuple(_through(function, groups) for function in node.bounds)
    if isinstance(node, Union):
        return _of_union([found[part.name] for part in node.parts])
    assert isinstance(node, OrderLimit | Limit)
    return found[node.input.name][: len(node.schema.columns)]


def _of_union(parts: Sequence[BaseTimes]) -> BaseTimes:
    """Rows of any part may come: a column is temporal where it is so in every part."""
    columns = zip(*parts, strict=True)
    return tuple(_joined(alternatives) for alternatives in columns)


def _joined(alternatives: tuple[Alternatives, ...]) -> Alternatives:
    if not all(alternatives) or len({f.temporal for each in alternatives for f in each}) > 1:
        return ()
    return tuple(dict.fromkeys(function for each in alternatives for function in each))


def _through(function: Monotone | None, columns: BaseTimes) -> Alternatives:
    """A function of columns as one of base time, for each way in which they are that."""
    if function is None:
        return ()
    ways = product(*(_column(item, columns) for item in function.inputs))
    return tuple(dict.fromkeys(function.of(way) for way in ways))


def _column(item: Input, columns: BaseTimes) -> Alternatives:
    return columns[item.index]
