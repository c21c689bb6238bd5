# SPDX-License-Identifier: Apache-2.0
"""Checked queries become nodes; what reads packets is split at the border on the way (split.py)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gigastream.gsql.queries import (
    CheckedQuery,
    JoinSource,
    PacketRows,
    ProtocolSource,
    QuerySource,
    Source,
    UnionSource,
)
from gigastream.late_dataclass import replace
from gigastream.plan.base_time import base_times
from gigastream.plan.builders import NodeNames
from gigastream.plan.clocks import check_clocks
from gigastream.plan.high import high
from gigastream.plan.joins import over_join
from gigastream.plan.limits import check_limits
from gigastream.plan.nodes import Node, topological
from gigastream.plan.operators import CLAUSES
from gigastream.plan.operators.merge import merge_node
from gigastream.plan.operators.output import output_node
from gigastream.plan.operators.union import union_of
from gigastream.plan.plan import Plan
from gigastream.plan.rules import RULES
from gigastream.plan.split import packet_rows, split
from gigastream.plan.standing import check_standing

Tops = Mapping[str, Node]
"""The top node of each query so far, by lower-case name."""


def plan_queries(queries: Sequence[CheckedQuery], *, is_finite: bool = False) -> Plan:
    """The plan of a query set: queries that no output needs are left out.

    `queries` come inputs before readers; `is_finite` says that all input has an end. Raises
    GsqlError where a DEFINE option demands of the low level what it cannot do, where a query has
    more temporal columns than can be followed, where a join relates times of unrelated clocks, or
    where what is held waits for a time that stands still.
    """
    plan = lower(queries)
    for rule in RULES:
        plan = rule(plan)
    check_limits(plan)
    times = base_times(plan)
    check_clocks(plan, times)
    return replace(plan, warnings=check_standing(plan, queries, times, is_finite=is_finite))


def lower(queries: Sequence[CheckedQuery]) -> Plan:
    """The plan as the split leaves it, before any rule."""
    names = NodeNames()
    names.reserve(query.name for query in queries)
    tops: dict[str, Node] = {}
    for query in queries:
        tops[query.name.lower()] = _lower(query, tops, names)
    outputs = tuple(output_node(q, tops[q.name.lower()]) for q in queries if q.is_output)
    nodes = topological(outputs)
    used = {node.name for node in nodes}
    return Plan(
        nodes,
        texts={query.name: query.text for query in queries if query.name in used},
        in_order={query.name: query.span for query in queries if query.options.in_order},
        pruned=tuple(query.name for query in queries if query.name not in used),
    )


def _lower(query: CheckedQuery, tops: Tops, names: NodeNames) -> Node:
    top = _rows(query, tops, names)
    for clause in CLAUSES:
        top = clause.on_top(query, top, names)
    return top


def _rows(query: CheckedQuery, tops: Tops, names: NodeNames) -> Node:
    """What a query's clauses on top are about."""
    if query.merge is not None:
        parts = tuple(_stream(query, source, tops, names) for source in query.sources)
        merge = merge_node(query.name, query.schema, parts, query.merge)
        return replace(merge, span=query.span)
    source = query.sole_source
    if isinstance(source, JoinSource):
        return over_join(query, source, names, lambda side: _side(side, tops, names))
    packets = _packet_sources(source)
    if packets:
        return split(query, packets, names)
    return high(query, _stream(query, source, tops, names), names)


def _side(query: CheckedQuery, tops: Tops, names: NodeNames) -> Node:
    """A side of a join; a query's rows as they are, where none is left out: it carries the rest."""
    source = query.sole_source
    if query.where is not None or _packet_sources(source):
        return _rows(query, tops, names)
    return _stream(query, source, tops, names)


def _packet_sources(source: Source) -> tuple[ProtocolSource, ...]:
    """The protocols that are read; none where streams are (the binder lets nobody mix them)."""
    return tuple(part for part in _parts(source) if isinstance(part, ProtocolSource))


def _parts(source: Source) -> tuple[Source, ...]:
    return source.inputs if isinstance(source, UnionSource) else (source,)


def _stream(query: CheckedQuery, source: Source, tops: Tops, names: NodeNames) -> Node:
    """The rows of a source that is no packets."""
    parts = tuple(_part(query, part, tops, names) for part in _parts(source))
    if len(parts) == 1:
        return parts[0]
    return union_of(names.fresh(f"{query.name}_union"), parts, in_order=query.options.in_order)


def _part(query: CheckedQuery, part: Source, tops: Tops, names: NodeNames) -> Node:
    if isinstance(part, PacketRows):
        return packet_rows(query, part, names)
    assert isinstance(part, QuerySource)
    return tops[part.query.lower()]
