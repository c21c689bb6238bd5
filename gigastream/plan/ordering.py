# SPDX-License-Identifier: Apache-2.0
"""ORDER BY … LIMIT: columns that are only sorted by, and the node that sorts closed windows."""

from __future__ import annotations

from gigastream.gsql.expressions import GroupRef
from gigastream.gsql.queries import CheckedQuery, OutputColumn
from gigastream.plan.accumulators import expression_key
from gigastream.plan.nodes import Aggregate, OrderLimit, Select


def is_ordered(query: CheckedQuery) -> bool:
    """True if the query sorts, and perhaps cuts, its closed windows."""
    return bool(query.order_by)


def sort_columns(query: CheckedQuery) -> tuple[OutputColumn, ...]:
    """What ORDER BY needs and SELECT does not show: sort keys and the window's variables."""
    if not is_ordered(query):
        return ()
    shown = {expression_key(output.expression) for output in query.outputs}
    wanted = [*(item.expression for item in query.order_by), *_window_refs(query)]
    hidden: dict[object, OutputColumn] = {}
    for expression in wanted:
        key = expression_key(expression)
        if key not in shown:
            hidden.setdefault(key, OutputColumn(f"_sort{len(hidden)}", expression))
    return tuple(hidden.values())


def order_node(query: CheckedQuery, groups: Aggregate | Select) -> OrderLimit:
    """The sorting of an aggregation's rows, window by window."""
    places: dict[object, int] = {}
    for index, output in enumerate(query.outputs + sort_columns(query)):
        places.setdefault(expression_key(output.expression), index)
    return OrderLimit(
        name=query.name,
        schema=query.schema,
        order=groups.order[: len(query.outputs)],
        input=groups,
        keys=tuple(
            (places[expression_key(item.expression)], item.descending) for item in query.order_by
        ),
        limit=query.limit,
        windows=tuple(places[expression_key(ref)] for ref in _window_refs(query)),
    )


def _window_refs(query: CheckedQuery) -> list[GroupRef]:
    return [
        GroupRef(
            type=group.expression.type,
            temporal=group.expression.temporal,
            nullable=group.expression.nullable,
            span=query.span,
            index=index,
            name=group.name,
        )
        for index, group in enumerate(query.groups)
        if group.expression.temporal.is_temporal
    ]
