# SPDX-License-Identifier: Apache-2.0
"""A node's columns in words: type, temporal type, and how punctuation comes to them."""

from __future__ import annotations

from collections.abc import Iterator

from gigastream.gsql.expressions import Expression
from gigastream.gsql.order.inference import Monotone, monotone
from gigastream.gsql.types import Column
from gigastream.plan.accumulators import KINDS
from gigastream.plan.describe_aggregates import accumulator_text
from gigastream.plan.nodes import (
    Aggregate,
    Limit,
    LowSelect,
    Node,
    OrderLimit,
    PartialAggregate,
    Select,
    Union,
)
from gigastream.plan.text import expression_text

Row = tuple[str, ...]


def column_rows(node: Node) -> Iterator[Row]:
    """For each column: its name, what it is made of, its type, its order, its punctuation."""
    made = _made_of(node)
    for index, column in enumerate(node.schema.columns):
        is_named = index >= len(made) or made[index] == column.name
        yield (
            column.name,
            "" if is_named else f"= {made[index]}",
            _type(column),
            _order(node, index),
            _punctuation(node, index),
        )


def progress(expression: Expression) -> str:
    """How a bound passes an expression, and back; empty if it is not temporal."""
    function = monotone(expression)
    return "" if function is None else _functions(function)


def _made_of(node: Node) -> list[str]:
    if isinstance(node, PartialAggregate):
        return [expression_text(group.expression) for group in node.groups] + [
            f"{accumulator_text(a)}{_part(suffix)}"
            for a in node.accumulators
            for suffix, _ in KINDS[a.kind].columns
        ]
    if isinstance(node, LowSelect | Select | Aggregate):
        return [expression_text(output.expression) for output in node.outputs]
    return []


def _part(suffix: str) -> str:
    return {
        "_ts": ": its time",
        "_if": ": its interface",
        "_pos": ": its place",
        "_n": ": their number",
        "_origin": ": the first one",
        "_sum": ": sum of the differences from it",
        "_squares": ": sum of their squares",
        "_squares_high": ": what it is above 64 bits",
    }.get(suffix, "")


def _type(column: Column) -> str:
    """`timestamp`, `uint (clock s)`, `ullong (mac) or NULL`."""
    words = [*([column.subtype] if column.subtype else [])]
    words += [f"clock {column.clock}"] if column.clock else []
    note = f" ({', '.join(words)})" if words else ""
    return f"{column.type}{note}{' or NULL' if column.nullable else ''}"


def _order(node: Node, index: int) -> str:
    temporal = node.schema.columns[index].temporal
    order = node.order[index]
    return "varying" if order is None else f"{temporal.value}, {order.value}"


def _punctuation(node: Node, index: int) -> str:
    if not node.schema.columns[index].temporal.is_temporal:
        return ""
    if isinstance(node, Union):
        return "least punctuation of all inputs"
    if isinstance(node, Limit):
        return f"punctuation of {node.schema.columns[index].name}, all of it after the last row"
    if isinstance(node, OrderLimit):
        return "punctuation of the input, once its windows are out"
    function = node.bounds[index]
    return "no punctuation before the end" if function is None else _functions(function)


def _functions(function: Monotone) -> str:
    """`punctuation of time b -> b/60, inverse v -> 60*v`; bounds that fall are of negatives."""
    read = ", ".join(item.name for item in function.inputs)
    if function.is_identity:
        return f"punctuation of {read}"
    inverse = f", inverse {function.inverse_text}" if function.inverse_text else ""
    return f"punctuation of {read} {function.forward_text}{inverse}"
