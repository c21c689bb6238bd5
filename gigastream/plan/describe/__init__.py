# SPDX-License-Identifier: Apache-2.0
"""The nodes of a plan in words: what explain shows as a tree, and to_dot as a graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gigastream.late_dataclass import dataclass
from gigastream.plan.describe.columns import Row, column_rows

if TYPE_CHECKING:
    from gigastream.plan.nodes import Detail, Node
    from gigastream.plan.plan import Plan


@dataclass(frozen=True, slots=True)
class NodeDescription:
    """A node in words."""

    name: str
    title: str
    details: tuple[Detail, ...]
    columns: tuple[Row, ...]
    """A row for each column: name, what it is made of, type, temporal type, punctuation."""


def describe(node: Node, plan: Plan) -> NodeDescription:
    """A node of the plan in words; details that do not apply are left out."""
    return NodeDescription(
        name=node.name,
        title=node.title,
        details=tuple((label, lines) for label, lines in node.details(plan) if lines),
        columns=() if node.is_output else tuple(column_rows(node)),
    )
