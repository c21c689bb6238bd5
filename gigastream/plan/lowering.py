# SPDX-License-Identifier: Apache-2.0
"""Checked queries become nodes; what reads packets is split at the border on the way (split.py)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gigastream.gsql.queries import (
    CheckedQuery,
    ProtocolSource,
    QuerySource,
    Source,
    UnionSource,
)
from gigastream.plan.accumulators import decompose
from gigastream.plan.builders import NodeNames, conjuncts
from gigastream.plan.limits import check_limits
from gigastream.plan.nodes import Node, topological
from gigastream.plan.operators import CLAUSES, with_hidden
from gigastream.plan.operators.aggregate import aggregate_node
from gigastream.plan.operators.output import output_node
from gigastream.plan.operators.select import select_node
from gigastream.plan.operators.union import union_of
from gigastream.plan.plan import Plan
from gigastream.plan.position import stream_position
from gigastream.plan.rules import RULES
from gigastream.plan.split import split

Tops = Mapping[str, Node]
"""The top node of each query so far, by lower-case name."""


def plan_queries(queries: Sequence[CheckedQuery]) -> Plan:
    """The plan of a query set: queries that no output needs are left out.

    `queries` come inputs before readers. Raises GsqlError where a DEFINE option demands of the low
    level what it cannot do, or where a query has more temporal columns than can be followed.
    """
    plan = lower(queries)
    for rule in RULES:
        plan = rule(plan)
    check_limits(plan)
    return plan


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
        pruned=tuple(query.name for query in queries if query.name not in used),
    )


def _lower(query: CheckedQuery, tops: Tops, names: NodeNames) -> Node:
    packets = _packet_sources(query.sole_source)
    if packets:
        top = split(query, packets, names)
    else:
        top = _high(query, _stream(query, query.sole_source, tops, names))
    for clause in CLAUSES:
        top = clause.on_top(query, top, names)
    return top


def _packet_sources(source: Source) -> tuple[ProtocolSource, ...]:
    """The protocols that are read; none where queries are (the binder lets nobody mix them)."""
    inputs = source.inputs if isinstance(source, UnionSource) else (source,)
    return tuple(part for part in inputs if isinstance(part, ProtocolSource))


def _stream(query: CheckedQuery, source: Source, tops: Tops, names: NodeNames) -> Node:
    inputs = source.inputs if isinstance(source, UnionSource) else (source,)
    parts = tuple(tops[part.query.lower()] for part in inputs if isinstance(part, QuerySource))
    return parts[0] if len(parts) == 1 else union_of(names.fresh(f"{query.name}_union"), parts)


def _high(query: CheckedQuery, stream: Node) -> Node:
    """A query over streams: everything is above the border."""
    where = conjuncts(query.where)
    if not query.is_aggregation:
        return select_node(query, stream, where, query.outputs)
    accumulators, finals = decompose(query.aggregates, stream_position(stream, query.span))
    return aggregate_node(
        query,
        stream,
        where,
        query.groups,
        accumulators,
        finals,
        with_hidden(query),
        merges_partials=False,
    )
