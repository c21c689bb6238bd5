# SPDX-License-Identifier: Apache-2.0
"""How many moves are between two windows follows from the values that there can be."""

from __future__ import annotations

from gigastream.plan.base_time import BaseTimes
from gigastream.plan.nodes import Node
from gigastream.plan.plan import Plan
from gigastream.plan.rules.rebuild import change_all


def measure_steps(plan: Plan) -> Plan:
    """Tell running aggregations how far their windows are from each other.

    Query:
        DEFINE { query_name bytes; }
        SELECT minute, running_sum(len) AS total FROM IPV4
        GROUP BY time/60*60 AS minute CLOSING_WHEN count(*) = 0
    Before:
        |  moves      each value of minute, 1 unit apart
    After:
        |  moves      each value of minute, 60 units apart
    """
    times: dict[str, BaseTimes] = {}

    def change(node: Node, old: Node) -> Node:
        inputs = [times[child.name] for child in node.inputs]
        if not node.is_output:
            times[node.name] = node.base_times(inputs)
        return node.with_steps(inputs)

    return change_all(plan, change)
