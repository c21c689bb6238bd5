# SPDX-License-Identifier: Apache-2.0
"""What consumers look at travels down to the LFTAs (OPERATORS section 1).

Between heartbeats a punctuation is worth sending only when it changes the value of some consumer's
expression.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gigastream.gsql.expressions import Expression
from gigastream.gsql.order.inference import Monotone
from gigastream.plan.nodes import Node
from gigastream.plan.operators.low_node import LowNode, over_timestamp
from gigastream.plan.plan import Plan
from gigastream.plan.rules.rebuild import change_low

MAX_NEEDS = 4


def describe_needs(plan: Plan) -> Plan:
    """Give every LFTA the monotone functions of the packet's time that its consumers group by.

    Query:
        SELECT time_ms AS t FROM PKT;
        DEFINE { query_name b; } SELECT tb, count(*) AS n FROM query GROUP BY t/1000 AS tb
    Before:
        announces  at each heartbeat
    After:
        announces  when timestamp b -> floor(b/1000000)/1000 grows
                   at each heartbeat
    """
    needs: dict[int, list[Monotone]] = {id(node): [] for node in plan.low}
    for node in plan.nodes:
        for port, child in enumerate(node.inputs):
            _ask(child, node.watched_of(port), needs)

    def change(node: LowNode) -> LowNode:
        wanted = node.own_needs or _distinct(needs[id(node)])
        return replace(node, needs=tuple(wanted[:MAX_NEEDS]))

    return change_low(plan, change)


def _ask(node: Node, watched: Sequence[Expression], needs: dict[int, list[Monotone]]) -> None:
    """Carry what is watched of a node's columns down to the LFTAs."""
    if not watched:
        return
    if node.is_low:
        below = node.asked_below(watched)
        needs[id(node)] += [f for f in map(over_timestamp, below) if f is not None]
    for port, child in enumerate(node.inputs):
        _ask(child, node.asked_of(port, watched), needs)


def _distinct(functions: list[Monotone]) -> tuple[Monotone, ...]:
    return tuple({function.forward_text: function for function in functions}.values())
