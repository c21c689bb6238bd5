# SPDX-License-Identifier: Apache-2.0
"""Which columns of a query say how much, and which only say which."""

from __future__ import annotations

from gigastream.gsql.expressions import AggregateRef, walk
from gigastream.plan.nodes import Aggregate, Limit, Node, OrderLimit, Output


def quantities(node: Node) -> tuple[bool, ...]:
    """Return for each column of an output whether it is a number made of aggregates.

    A group variable, a packet's field or a column of another query may be a port or an identifier:
    how it is read is not known.
    """
    top = node
    while isinstance(top, Output | OrderLimit | Limit):
        top = top.input
    if not isinstance(top, Aggregate):
        return (False,) * len(node.schema.columns)
    return tuple(
        column.type.is_numeric and any(isinstance(part, AggregateRef) for part in walk(of))
        for column, of in zip(
            node.schema.columns, (output.expression for output in top.outputs), strict=False
        )
    )
