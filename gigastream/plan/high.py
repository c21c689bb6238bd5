# SPDX-License-Identifier: Apache-2.0
"""Queries over streams: everything is above the border."""

from __future__ import annotations

from gigastream.gsql.queries import CheckedQuery
from gigastream.plan.accumulators import decompose
from gigastream.plan.builders import NodeNames, conjuncts
from gigastream.plan.forms import in_its_form
from gigastream.plan.grouping import rows_of_sets
from gigastream.plan.nodes import Node
from gigastream.plan.operators import with_hidden
from gigastream.plan.operators.aggregate import aggregate_node
from gigastream.plan.operators.select import select_node
from gigastream.plan.position import demand_position, stream_position
from gigastream.plan.sampling import sampled_rows
from gigastream.plan.split import refuse_partials


def high(query: CheckedQuery, stream: Node, names: NodeNames) -> Node:
    """A query over the rows of a stream."""
    where = conjuncts(query.where)
    if not query.is_aggregation:
        return select_node(query, stream, where, query.outputs)
    if query.options.lfta_aggregation:
        refuse_partials(query, "its rows are made above it")
    demand_position(query, stream)
    accumulators, finals = decompose(query.aggregates, stream_position(stream, query.span))
    if query.sampling is not None:
        parts = (query, stream, (), query.groups, accumulators, finals, with_hidden(query))
        return sampled_rows(query, aggregate_node(*parts, merges_partials=False), where)
    rows, where, groups, accumulators = rows_of_sets(
        query, stream, where, query.groups, accumulators, names
    )
    top = aggregate_node(
        query,
        rows,
        where,
        groups,
        accumulators,
        finals,
        with_hidden(query),
        merges_partials=False,
    )
    return in_its_form(query, top)
