# SPDX-License-Identifier: Apache-2.0
"""Whether the packets of a plan can be shared out between engines that need not know each other.

Each engine gets all packets of the same addresses. Where every aggregation's groups are told apart
by one of these addresses, each group is one engine's alone: its rows are there what they are in one
engine, and together they are the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import reduce
from typing import cast

from gigastream.gsql.expressions import FieldRef
from gigastream.late_dataclass import dataclass
from gigastream.plan.nodes import Node
from gigastream.plan.operators.aggregate import Aggregate
from gigastream.plan.operators.output import Output
from gigastream.plan.operators.partial_aggregate import PartialAggregate
from gigastream.plan.operators.select import Select
from gigastream.plan.operators.union import Union
from gigastream.plan.plan import Plan

SOURCE, DESTINATION = "srcIP", "destIP"
_Check = Callable[[Node], str | None]


@dataclass(frozen=True, slots=True)
class NotShared(Exception):  # noqa: N818  it is an answer more often than an error
    """Why one engine has to see all packets."""

    why: str

    def __str__(self) -> str:
        return self.why


def addresses_of(plan: Plan) -> frozenset[str]:
    """SOURCE, DESTINATION, or both: what the groups of all aggregations have. NotShared."""
    for node in plan.nodes:
        why = _CHECKS.get(type(node), _other)(node)
        if why is not None:
            raise NotShared(why)
    if plan.watchlists:
        raise NotShared("a watchlist is read while packets are")
    found = reduce(frozenset.__and__, map(_addresses, plan.low))
    if not found:
        raise NotShared("its groups have no address in common, srcIP or destIP")
    return found


def _addresses(node: Node) -> frozenset[str]:
    return frozenset(_fields(node)) & {SOURCE, DESTINATION}


def _fields(node: Node) -> Iterator[str]:
    """The group variables that are fields, as they are."""
    for group in cast("PartialAggregate", node).groups:
        expression = group.expression
        if isinstance(expression, FieldRef) and expression.accessor.startswith(expression.field):
            yield expression.field


def _other(node: Node) -> str | None:
    return f"{node.name} ({type(node).title}) looks at rows of all groups, or at all packets"


def _low(node: Node) -> str | None:
    node = cast("PartialAggregate", node)
    source = node.source
    if source.decapsulation is not None or source.reassembly is not None:
        return f"{node.name} sees other packets than the capture has"
    if node.filter is not None or node.row_column is not None:
        return f"{node.name} remembers, or counts, packets of all groups"
    return None


def _high(node: Node) -> str | None:
    return None if cast("Aggregate", node).merges_partials else _other(node)


def _nothing(_node: Node) -> str | None:
    return None


_CHECKS: dict[type[Node], _Check] = {
    PartialAggregate: _low,
    Aggregate: _high,
    Select: _nothing,
    Union: _nothing,
    Output: _nothing,
}
