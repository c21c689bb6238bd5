# SPDX-License-Identifier: Apache-2.0
"""Changing nodes of a plan: what reads a changed node is made anew over it."""

from __future__ import annotations

from collections.abc import Callable

from gigastream.late_dataclass import replace
from gigastream.plan.nodes import Node, map_inputs
from gigastream.plan.operators.low_node import LowNode
from gigastream.plan.plan import Plan


def change_low(plan: Plan, change: Callable[[LowNode], LowNode]) -> Plan:
    """The plan with every low node changed."""
    made: dict[int, Node] = {id(node): change(node) for node in plan.low}
    for node in plan.nodes:
        if not node.is_low:
            made[id(node)] = map_inputs(node, lambda child: made[id(child)])
    return replace(plan, nodes=tuple(made[id(node)] for node in plan.nodes))


def change_all(plan: Plan, change: Callable[[Node, Node], Node]) -> Plan:
    """The plan with every node changed: `change` is given it over changed inputs, and as it was."""
    made: dict[int, Node] = {}
    for node in plan.nodes:
        made[id(node)] = change(map_inputs(node, lambda child: made[id(child)]), node)
    return replace(plan, nodes=tuple(made[id(node)] for node in plan.nodes))
