# SPDX-License-Identifier: Apache-2.0
"""Cheap predicates first."""

from __future__ import annotations

from gigastream.late_dataclass import replace
from gigastream.plan.costs import cost
from gigastream.plan.operators.low_node import LowNode
from gigastream.plan.plan import Plan
from gigastream.plan.rules.rebuild import change_low


def order_predicates(plan: Plan) -> Plan:
    """Order each LFTA's predicates by cost; those that cost the same stay as written.

    Query:
        SELECT time FROM TCP
        WHERE str_exists_substr[TCP_data, 'Host'] AND 100/srcPort > 1 AND 100/destPort > 1
    Before:
        where      str_exists_substr[TCP_data, 'Host'] (cost 101)
                   (100/srcPort) > 1 (cost 7)
                   (100/destPort) > 1 (cost 7)
    After:
        where      (100/srcPort) > 1 (cost 7)
                   (100/destPort) > 1 (cost 7)
                   str_exists_substr[TCP_data, 'Host'] (cost 101)
    """

    def change(node: LowNode) -> LowNode:
        return replace(node, predicates=tuple(sorted(node.predicates, key=cost)))

    return change_low(plan, change)
