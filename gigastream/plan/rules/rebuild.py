# SPDX-License-Identifier: Apache-2.0
"""Changing nodes of a plan: what reads a changed node is made anew over it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from gigastream.plan.nodes import (
    Aggregate,
    Limit,
    LowNode,
    Node,
    OrderLimit,
    Output,
    Plan,
    Select,
    Union,
)


def change_low(plan: Plan, change: Callable[[LowNode], LowNode]) -> Plan:
    """The plan with every low node changed."""
    made: dict[int, Node] = {}
    for node in plan.nodes:
        made[id(node)] = change(node) if isinstance(node, LowNode) else _over(node, made)
    return replace(plan, nodes=tuple(made.values()))


def _over(node: Node, made: dict[int, Node]) -> Node:
    if isinstance(node, Union):
        return replace(node, parts=tuple(made[id(part)] for part in node.parts))
    below = made[id(node.inputs[0])]
    if isinstance(node, OrderLimit):
        assert isinstance(below, Aggregate | Select)
        return replace(node, input=below)
    assert isinstance(node, Select | Aggregate | Limit | Output)
    return replace(node, input=below)
