# SPDX-License-Identifier: Apache-2.0
"""The prefilter: each distinct cheap predicate of the query set is evaluated once a packet."""

from __future__ import annotations

from gigastream.gsql.expressions import Expression
from gigastream.late_dataclass import replace
from gigastream.plan.accumulators import expression_key
from gigastream.plan.costs import is_total_and_cheap
from gigastream.plan.operators.low_node import LowNode
from gigastream.plan.plan import Plan
from gigastream.plan.rules.rebuild import change_low


def choose_prefilter(plan: Plan) -> Plan:
    """Move cheap predicates that hold for any packet from the LFTAs to the prefilter.

    An LFTA keeps their numbers as its signature and sees a packet only if it passes all of them.

    Query:
        SELECT time FROM TCP WHERE destPort = 80 AND len > 100;
        DEFINE { query_name b; } SELECT time FROM UDP WHERE len > 100 AND 100/srcPort > 1
    Before:
        where      destPort = 80 (cost 2)
                   len > 100 (cost 2)
    Before:
        where      len > 100 (cost 2)
                   (100/srcPort) > 1 (cost 7)
    After:
        prefilter  bit 0: destPort = 80
                   bit 1: len > 100
    After:
        prefilter  bit 1: len > 100
        where      (100/srcPort) > 1 (cost 7)
    After:
        bit 0  cost 2  destPort = 80  for query
        bit 1  cost 2  len > 100      for query, b
    """
    predicates: list[Expression] = list(plan.prefilter)
    chosen = {expression_key(predicate): bit for bit, predicate in enumerate(predicates)}

    def number(predicate: Expression) -> int:
        key = expression_key(predicate)
        if key not in chosen:
            chosen[key] = len(predicates)
            predicates.append(predicate)
        return chosen[key]

    def change(node: LowNode) -> LowNode:
        if node.filter is not None:
            return node
        cheap = [p for p in node.predicates if is_total_and_cheap(p)]
        rest = tuple(p for p in node.predicates if not is_total_and_cheap(p))
        signature = {*node.signature, *map(number, cheap)}
        return replace(node, signature=tuple(sorted(signature)), predicates=rest)

    changed = change_low(plan, change)
    return replace(changed, prefilter=tuple(predicates))
