# SPDX-License-Identifier: Apache-2.0
"""What consumers look at travels down to the LFTAs (OPERATORS section 1).

Between heartbeats a punctuation is worth sending only when it changes the value of some consumer's
expression.
"""

from __future__ import annotations

from collections.abc import Sequence

from gigastream.gsql.order.inference import Monotone, distinct, monotone
from gigastream.late_dataclass import replace
from gigastream.plan.operators.low_node import LowNode
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
    asked = _asked(plan)

    def change(node: LowNode) -> LowNode:
        wanted = node.own_needs or node.asked_below(asked[id(node)])
        return replace(node, needs=_distinct(wanted)[:MAX_NEEDS])

    return change_low(plan, change)


def _asked(plan: Plan) -> dict[int, tuple[Monotone, ...]]:
    """What is watched of each node's columns, all the way up.

    Consumers first, each once: by paths, a chain of unions of a query with itself would take 2^n.
    """
    asked: dict[int, tuple[Monotone, ...]] = {id(node): () for node in plan.nodes}
    for node in reversed(plan.nodes):
        for port in reversed(range(len(node.inputs))):
            own = tuple(f for f in map(monotone, node.watched_of(port)) if f is not None)
            further = node.asked_of(port, asked[id(node)])
            below = id(node.inputs[port])
            asked[below] = distinct((*own, *further, *asked[below]))
    return asked


def _distinct(functions: Sequence[Monotone]) -> tuple[Monotone, ...]:
    """Those that carry a bound differently: of one that falls the bound is its negative's."""
    return tuple({each.function: each for each in functions}.values())
