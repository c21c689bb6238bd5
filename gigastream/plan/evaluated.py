# SPDX-License-Identifier: Apache-2.0
"""What the nodes of a plan compute for a row."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from gigastream.gsql.expressions import Expression, FunctionCall, walk
from gigastream.plan.nodes import Aggregate, Node, accumulator_expressions

_PARTS_OF_ACCUMULATOR = 10
_PARTS_OF_COLUMN = 2


def evaluated(node: Node) -> Iterator[tuple[Expression, int]]:
    """What a node computes, and what each costs beside its operations."""
    for predicate in getattr(node, "predicates", ()):
        yield predicate, 0
    for column in (*getattr(node, "groups", ()), *getattr(node, "outputs", ())):
        yield column.expression, _PARTS_OF_COLUMN
    for accumulator in getattr(node, "accumulators", ()):
        for expression in accumulator_expressions(accumulator):
            yield expression, _PARTS_OF_ACCUMULATOR
    having = getattr(node, "having", None)
    if having is not None:
        yield having, 0


def calls_of(node: Node) -> Iterator[FunctionCall]:
    """The function calls that a node makes; the arguments of partial groups were computed below."""
    if isinstance(node, Aggregate) and node.merges_partials:
        node = replace(node, accumulators=())
    for expression, _ in evaluated(node):
        yield from (part for part in walk(expression) if isinstance(part, FunctionCall))
