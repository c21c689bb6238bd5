# SPDX-License-Identifier: Apache-2.0
"""Whether windows are known by bounds of the columns that show them.

Threads that have part of the groups each say by bounds alone which window lacks groups
(csrc/runtime/part_order.c): a part that has refused all of a window has no row of it.
"""

from __future__ import annotations

from collections.abc import Sequence

from gigastream.gsql.order.ranges import Known
from gigastream.gsql.types import Order
from gigastream.plan.nodes import Node


def names_windows(nodes: Sequence[Node]) -> list[bool]:
    """Whether bounds of the columns in whose order a node's rows are say to which window these are.

    Of each node; its inputs stand before it.
    """
    found: dict[int, Known] = {}
    for node in nodes:
        found[id(node)] = node.exact_ranges([found[id(child)] for child in node.inputs])
    return [_are_known(node, found[id(node)]) for node in nodes]


def _are_known(node: Node, columns: Known) -> bool:
    in_order = zip(node.order, columns, strict=False)
    return all(values is not None for order, values in in_order if order is Order.ORDERED)
