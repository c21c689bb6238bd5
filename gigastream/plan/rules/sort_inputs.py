# SPDX-License-Identifier: Apache-2.0
"""What must come in order, and is only progressing, is sorted first (OPERATORS section 1)."""

from __future__ import annotations

from gigastream.gsql.source import Span
from gigastream.gsql.types import Order
from gigastream.late_dataclass import replace
from gigastream.plan.builders import NodeNames, first_temporal
from gigastream.plan.nodes import Node
from gigastream.plan.operators.sort import sort_node
from gigastream.plan.plan import Plan


def sort_inputs(plan: Plan) -> Plan:
    """Put a Sort before the inputs of a merge that are only progressing.

    Under DEFINE in_order it stands before whatever keeps state, too: the in-order forms, with which
    the papers compare.

    Query:
        DEFINE { query_name a; visibility internal; } SELECT time, len FROM TCP;
        DEFINE { query_name b; visibility internal; } SELECT time, len FROM UDP;
        DEFINE { query_name c; } MERGE a.time : b.time FROM a, b
    Before:
        |- query a
        `- query b
    After:
        |- sort a_sorted
        |  |  order  time
    """
    names = NodeNames({node.name.lower() for node in plan.nodes})
    in_order = _in_order(plan)
    made: dict[int, Node] = {}
    nodes: list[Node] = []
    for node in plan.nodes:
        inputs = [made[id(child)] for child in node.inputs]
        for port, column in enumerate(_columns(node, is_in_order=id(node) in in_order)):
            ties = node.ties_of(port)
            is_sorted = column is None or inputs[port].order[column] is Order.ORDERED
            if column is not None and (ties or not is_sorted):
                name = names.fresh(f"{inputs[port].name}_sorted")
                asked_at = in_order[id(node)] if node.ordered_by(port) is None else None
                span = asked_at or node.asks_order_at
                inputs[port] = sort_node(name, inputs[port], column, ties, asked_at, span)
                nodes.append(inputs[port])
        made[id(node)] = node.with_inputs(tuple(inputs))
        nodes.append(made[id(node)])
    return replace(plan, nodes=tuple(nodes))


def _in_order(plan: Plan) -> dict[int, Span]:
    """The nodes of the queries that are answered in order, and where these stand."""
    tops = [node for node in plan.nodes if node.name in plan.in_order and not node.is_output]
    return {id(own): plan.in_order[top.name] for top in tops for own in plan.own_nodes(top)}


def _columns(node: Node, *, is_in_order: bool) -> tuple[int | None, ...]:
    """The column in whose order each input must come."""
    ports = range(len(node.inputs))
    if not (is_in_order and node.sorts_in_order):
        return tuple(map(node.ordered_by, ports))
    return tuple(first_temporal(node.inputs[p].schema, node.columns_read(p)) for p in ports)
