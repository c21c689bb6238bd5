# SPDX-License-Identifier: Apache-2.0
"""One LFTA for all queries that want the same of the packets."""

from __future__ import annotations

import json

from gigastream.late_dataclass import replace
from gigastream.plan.operators.low_node import LowNode
from gigastream.plan.plan import Plan
from gigastream.plan.rules.rebuild import change_low
from gigastream.plan.to_json import node_to_json

_NOT_COMPUTED = ("name", "options")


def share_low(plan: Plan) -> Plan:
    """Let queries whose LFTAs are the same but for their names read one of them.

    The same are packets, WHERE, groups, aggregates, column names and options of the table. An LFTA
    that is a query itself, or a part of a union, stays alone.

    Query:
        SELECT tb, srcIP, count(*) AS n FROM IP GROUP BY time/60 AS tb, srcIP HAVING count(*) > 9;
        DEFINE { query_name b; } SELECT tb, srcIP, count(*) AS packets FROM IP
        GROUP BY time/60 AS tb, srcIP
    Before:
        `- LFTA b_low, below the border
    After:
        `- LFTA query_low, below the border
    After:
        feeds query, b
    """
    alone = {id(part) for node in plan.nodes if node.keeps_inputs_apart for part in node.inputs}
    first: dict[str, LowNode] = {}

    def change(node: LowNode) -> LowNode:
        if id(node) in alone or node.name in plan.texts:
            return node
        return first.setdefault(_computed(node), node)

    changed = change_low(plan, change)
    return replace(changed, nodes=tuple({id(node): node for node in changed.nodes}.values()))


def _computed(node: LowNode) -> str:
    """The text is equal for two LFTAs that put out the same."""
    own = {key: v for key, v in node_to_json(node).items() if key not in _NOT_COMPUTED}
    return json.dumps([own, node.options.of_table], sort_keys=True)
