# SPDX-License-Identifier: Apache-2.0
"""A query over a join: a selection of each side, the join, and above it what the query asks."""

from __future__ import annotations

from collections.abc import Callable

from gigastream.gsql.expressions import ColumnRef, Expression, rewrite
from gigastream.gsql.queries import (
    CheckedQuery,
    JoinColumn,
    JoinInput,
    JoinSource,
    OutputColumn,
    TimeRelation,
)
from gigastream.gsql.types import Schema
from gigastream.late_dataclass import replace
from gigastream.plan.accumulators import expression_key
from gigastream.plan.builders import NodeNames, column_of, conjuncts, named_apart, progressing
from gigastream.plan.high import high
from gigastream.plan.nodes import Node
from gigastream.plan.operators.join import Join, JoinedColumn

Selection = Callable[[CheckedQuery], Node]
"""Makes the nodes of a query, which is a selection of one side."""


def over_join(
    query: CheckedQuery, source: JoinSource, names: NodeNames, selection: Selection
) -> Node:
    """The nodes of a query over joined rows; the join is its top where it asks nothing more."""
    made = _shared(source)
    if _is_of_columns(query):
        columns = tuple(made.columns[_index(output)] for output in query.outputs)
        made = replace(made, columns=columns)
        return replace(_join(query, made, query.name, names, selection), schema=query.schema)
    joined = _join(query, made, names.fresh(f"{query.name}_join"), names, selection)
    return high(query, joined, names)


def _is_of_columns(query: CheckedQuery) -> bool:
    """True for a selection of joined columns, each once, without a condition on them."""
    plain = [o for o in query.outputs if isinstance(o.expression, ColumnRef)]
    indices = {_index(output) for output in plain}
    is_plain = len(indices) == len(query.outputs)
    return is_plain and not query.is_aggregation and query.where is None


def _index(output: OutputColumn) -> int:
    assert isinstance(output.expression, ColumnRef)
    return output.expression.index


def _join(
    query: CheckedQuery, source: JoinSource, name: str, names: NodeNames, selection: Selection
) -> Join:
    left, right = (_side(query, side, names, selection) for side in source.inputs)
    schema = Schema(tuple(column.column for column in source.columns))
    return Join(
        name=name,
        schema=schema,
        order=progressing(schema),
        left=left,
        right=right,
        keeps=source.keeps,
        pairs=source.times,
        keys=source.keys,
        residual=source.residual,
        columns=tuple(JoinedColumn(c.column.name, c.places) for c in source.columns),
    )


def _side(query: CheckedQuery, side: JoinInput, names: NodeNames, selection: Selection) -> Node:
    if isinstance(side.source, JoinSource):
        inner = _shared(side.source)
        joined = _join(query, inner, names.fresh(f"{query.name}_join"), names, selection)
        if side.where is None:
            return joined
        matched = _selection_of(query, side, names.fresh(f"{query.name}_matched"))
        return high(matched, joined, names)
    return selection(_selection_of(query, side, names.fresh(f"{query.name}_{side.name}")))


def _selection_of(query: CheckedQuery, side: JoinInput, name: str) -> CheckedQuery:
    """What a side is as a query of its own."""
    return CheckedQuery(
        name=name,
        span=query.span,
        text="",
        sources=(side.source,),
        outputs=side.columns,
        where=side.where,
        options=query.options,
        schema=Schema(tuple(map(column_of, side.columns))),
    )


# A self-join


def _shared(source: JoinSource) -> JoinSource:
    """Where both sides are the same rows, both carry the same columns: one LFTA feeds them."""
    left, right = source.inputs
    if left.source != right.source or conjuncts(left.where) != conjuncts(right.where):
        return source
    columns = {expression_key(c.expression): c for c in (*right.columns, *left.columns)}
    columns = {**{expression_key(c.expression): c for c in left.columns}, **columns}
    both = named_apart(columns.values())
    places = {key: index for index, key in enumerate(columns)}
    moved = [[places[expression_key(c.expression)] for c in side.columns] for side in source.inputs]
    inputs = (replace(left, columns=both), replace(right, columns=both))
    return _with_columns_moved(replace(source, inputs=inputs), moved)


def _with_columns_moved(source: JoinSource, moved: list[list[int]]) -> JoinSource:
    def move(part: Expression) -> Expression:
        if not isinstance(part, ColumnRef):
            return part
        return replace(part, index=moved[part.port][part.index])

    def over(expression: Expression) -> Expression:
        return rewrite(expression, move)

    def place(column: JoinColumn) -> JoinColumn:
        left, right = (
            None if at is None else moved[side][at] for side, at in enumerate(column.places)
        )
        return replace(column, places=(left, right))

    return replace(
        source,
        times=tuple(
            TimeRelation((over(t.sides[0]), over(t.sides[1])), t.reach) for t in source.times
        ),
        keys=tuple((over(a), over(b)) for a, b in source.keys),
        residual=tuple(map(over, source.residual)),
        columns=tuple(map(place, source.columns)),
    )
