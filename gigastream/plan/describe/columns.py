# SPDX-License-Identifier: Apache-2.0
"""A node's columns in words: type, temporal type, and how punctuation comes to them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gigastream.gsql.types import Column

if TYPE_CHECKING:
    from gigastream.plan.nodes import Node

Row = tuple[str, ...]


def column_rows(node: Node) -> Iterator[Row]:
    """For each column: its name, what it is made of, its type, its order, its punctuation."""
    made = node.made_of
    for index, column in enumerate(node.schema.columns):
        is_named = index >= len(made) or made[index] == column.name
        yield (
            column.name,
            "" if is_named else f"= {made[index]}",
            _type(column),
            _order(node, index),
            node.punctuation(index) if column.temporal.is_temporal else "",
        )


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
