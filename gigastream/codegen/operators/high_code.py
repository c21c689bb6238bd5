# SPDX-License-Identifier: Apache-2.0
"""An operator of the high level as C: what all of them have around what is their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gigastream.codegen.c_text import Lines, comment
from gigastream.codegen.columns import write_schema
from gigastream.codegen.context import CodeContext
from gigastream.late_dataclass import dataclass
from gigastream.plan.nodes import Node


@dataclass(frozen=True, slots=True)
class HighCode:
    """How one kind of operator becomes C."""

    write_operator: Callable[[Lines, CodeContext, str, Any], None]
    """Its functions, and `<prefix>_ops`."""

    node_kind = "GS_NODE_OPERATOR"

    def prefix(self, context: CodeContext, node: Node) -> str:
        """What the names in C of all that belongs to the operator begin with."""
        return context.prefix(node, f"{node.kind}_{node.name}")

    def write(self, lines: Lines, context: CodeContext, node: Node) -> None:
        """Everything of one operator: schema, functions, `<prefix>_ops`."""
        prefix = self.prefix(context, node)
        lines.add(comment(f"{node.kind} {node.name}"))
        write_schema(lines, prefix, node.name, node.schema)
        self.write_operator(lines, context, prefix, node)

    def write_above(self, lines: Lines, context: CodeContext, node: Node) -> None:
        """The same where the low level runs elsewhere."""
        self.write(lines, context, node)


def same_for_every_query(kind: str) -> HighCode:
    """Code of an operator of which csrc/hfta/ has all."""

    def write(lines: Lines, context: CodeContext, prefix: str, node: Node) -> None:
        lines.add(f'static const struct gs_operator_ops {prefix}_ops = {{"{kind}"}};', "")

    return HighCode(write)


def write_ops(lines: Lines, kind: str, prefix: str, *members: str) -> None:
    """`<prefix>_ops`, whose type is of the kind."""
    with lines.block(f"static const struct gs_{kind}_ops {prefix}_ops =", "};"):
        lines.add(f'.common = {{"{kind}"}},', *members)
    lines.add("")
