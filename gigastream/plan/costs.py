# SPDX-License-Identifier: Apache-2.0
"""What an expression costs on a packet, and whether it may be evaluated below the border."""

from __future__ import annotations

from collections.abc import Iterable

from gigastream.gsql.expressions import (
    Case,
    Cast,
    ColumnRef,
    Constant,
    Expression,
    FieldRef,
    FunctionCall,
    ListValue,
    Operation,
    walk,
)
from gigastream.gsql.types import Type
from gigastream.gsql.watchlists import Watchlist

DIVISION = 5
EXPENSIVE = 1000
"""From this cost on (COST EXPENSIVE) a function stays above the border."""

LOOKUP = 50
"""Of a packet in a watchlist."""

DIVISIONS = ("/", "//", "%")


def cost(expression: Expression) -> int:
    """A unit is about a load or an addition."""
    return sum(_own_cost(node) for node in walk(expression))


def _own_cost(node: Expression) -> int:
    if isinstance(node, FieldRef | FunctionCall):
        return node.cost
    if isinstance(node, ListValue):
        return LOOKUP
    if isinstance(node, Operation):
        return DIVISION if node.operator in DIVISIONS else 1
    return 0


def is_low_legal(expression: Expression) -> bool:
    """True if every function in it may run, and is cheap enough to run, on every packet."""
    return not why_not_low(expression)


def why_not_low(expression: Expression) -> str:
    """What keeps an expression above the border; empty if nothing does.

    What may run nowhere else (LFTA_ONLY) runs below it at any cost.
    """
    for node in walk(expression):
        if isinstance(node, FunctionCall) and not node.lfta_legal:
            return f"{node.name} is not LFTA-legal"
        if isinstance(node, FunctionCall) and node.cost >= EXPENSIVE and node.hfta_legal:
            return f"{node.name} is expensive"
    return ""


def is_total_and_cheap(expression: Expression) -> bool:
    """True for what the prefilter may evaluate for any packet at all, of its protocol or not.

    Nothing that has no value for some packets, no function, no NULL.
    """
    return not expression.nullable and all(_is_prefilter_node(node) for node in walk(expression))


def _is_prefilter_node(node: Expression) -> bool:
    if isinstance(node, Constant):
        return True
    if isinstance(node, FieldRef):
        return node.cost < DIVISION and not node.type.is_wide
    if isinstance(node, Operation):
        return not node.checked and node.operator not in DIVISIONS
    return isinstance(node, Cast | Case) and not getattr(node, "checked", False)


def makes_strings(expression: Expression) -> bool:
    """Whether its value takes some of the memory that a packet's strings have."""
    return any(
        (isinstance(node, FunctionCall) and node.type is Type.STRING)
        or (isinstance(node, FieldRef) and node.accessor == "community_id")
        for node in walk(expression)
    )


def fields_of(*expressions: Expression) -> tuple[FieldRef, ...]:
    """The distinct packet fields that expressions read, in order of appearance.

    One that may be absent is another than the one that must be there.
    """
    found: dict[tuple[str, bool], FieldRef] = {}
    for expression in expressions:
        for node in walk(expression):
            if isinstance(node, FieldRef):
                found.setdefault((node.accessor, node.is_optional), node)
    return tuple(found.values())


def lists_of(expressions: Iterable[Expression]) -> tuple[Watchlist, ...]:
    """The distinct watchlists that expressions read, in order of appearance."""
    parts = (part for expression in expressions for part in walk(expression))
    return tuple(dict.fromkeys(e.watchlist for e in parts if isinstance(e, ListValue)))


def columns_of(*expressions: Expression, port: int) -> frozenset[int]:
    """The columns of an input that expressions read."""
    nodes = (node for e in expressions for node in walk(e))
    return frozenset(n.index for n in nodes if isinstance(n, ColumnRef) and n.port == port)
