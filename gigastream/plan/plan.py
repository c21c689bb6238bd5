# SPDX-License-Identifier: Apache-2.0
"""A plan: the nodes of a query set, and what they share."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, cast

from gigastream.gsql.diagnostics import Diagnostic
from gigastream.gsql.expressions import Expression
from gigastream.gsql.source import Span
from gigastream.gsql.watchlists import Watchlist
from gigastream.late_dataclass import dataclass, field
from gigastream.plan.costs import lists_of
from gigastream.plan.nodes import Node

if TYPE_CHECKING:
    from gigastream.plan.operators.low_node import LowNode
    from gigastream.plan.operators.output import Output


@dataclass(frozen=True)
class Plan:
    """A query set: its nodes, inputs before consumers, and the prefilter that its LFTAs share."""

    nodes: tuple[Node, ...]
    prefilter: tuple[Expression, ...] = ()
    """Distinct cheap predicates over packet fields, each evaluated once a packet."""
    early_fields: tuple[str, ...] = ()
    """Accessors unpacked into a column for the whole burst; others are read where needed."""
    texts: dict[str, str] = field(default_factory=dict, compare=False)
    """The source of each query that an output needs, by name; inputs before readers."""
    in_order: dict[str, Span] = field(default_factory=dict, compare=False)
    """Queries whose operators are the in-order forms, and where they stand."""
    pruned: tuple[str, ...] = field(default=(), compare=False)
    """Queries that no output needs."""
    warnings: tuple[Diagnostic, ...] = field(default=(), compare=False)
    """What whoever runs it should be told."""

    is_fused: bool = field(default=True, compare=False)
    """An LFTA that alone sees packets decodes them itself; False: they are decoded ahead of it."""

    @cached_property
    def low(self) -> tuple[LowNode, ...]:
        return cast("tuple[LowNode, ...]", tuple(node for node in self.nodes if node.is_low))

    @property
    def outputs(self) -> tuple[Output, ...]:
        return cast("tuple[Output, ...]", tuple(node for node in self.nodes if node.is_output))

    @property
    def watchlists(self) -> tuple[Watchlist, ...]:
        """The lists that its packets are looked up in, in the order of their numbers."""
        return lists_of(e for node in self.low for e in node.expressions)

    def readers(self, node: Node) -> tuple[Node, ...]:
        """The nodes that read what a node puts out."""
        return tuple(r for r in self.nodes if any(child is node for child in r.inputs))

    def columns_read(self, node: Node) -> list[int]:
        """The columns of a node that are read by anybody."""
        read = (
            reader.columns_read(port)
            for reader in self.nodes
            for port, child in enumerate(reader.inputs)
            if child is node
        )
        return sorted(frozenset().union(*read))

    def own_nodes(self, top: Node) -> list[Node]:
        """The nodes of a query, its top first: those below it down to other queries' tops."""
        found: dict[str, Node] = {}

        def visit(node: Node) -> None:
            if node.name not in found and (node is top or node.name not in self.texts):
                found[node.name] = node
                for child in node.inputs:
                    visit(child)

        visit(top)
        return list(found.values())
