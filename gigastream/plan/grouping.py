# SPDX-License-Identifier: Apache-2.0
"""CUBE, ROLLUP and GROUPING_SETS: the groups of all sets, of rows that are made once.

Below the border there are the finest groups alone; their partial rows are put into the groups of
every set above it (as Gray et al., Data Cube, 1997, compute distributive and algebraic aggregates).
"""

from __future__ import annotations

from gigastream.gsql.expressions import ColumnRef, Expression
from gigastream.gsql.queries import CheckedQuery, GroupVariable, OutputColumn
from gigastream.gsql.types import Schema
from gigastream.late_dataclass import replace
from gigastream.plan.accumulators import Accumulator, accumulator_names
from gigastream.plan.builders import NodeNames, column_of
from gigastream.plan.nodes import Node
from gigastream.plan.operators.expand import expand
from gigastream.plan.operators.select import select_node

Groups = tuple[GroupVariable, ...]
Accumulators = tuple[Accumulator, ...]


def partials_of_sets(
    query: CheckedQuery, partials: Node, groups: Groups, names: NodeNames
) -> tuple[Node, Groups]:
    """Partial rows for each grouping set, and the group variables over them."""
    if query.grouping is None:
        return partials, groups
    name = names.fresh(f"{query.name}_sets")
    stream = expand(name, partials, query.grouping, len(groups))
    return stream, _key(stream, len(groups))


def rows_of_sets(
    query: CheckedQuery,
    stream: Node,
    predicates: tuple[Expression, ...],
    groups: Groups,
    accumulators: Accumulators,
    names: NodeNames,
) -> tuple[Node, tuple[Expression, ...], Groups, Accumulators]:
    """The same of rows: what is read of them is computed once, before they are multiplied.

    With the conditions that are left, and the accumulators over it.
    """
    if query.grouping is None:
        return stream, predicates, groups, accumulators
    outputs = [OutputColumn(group.name, group.expression) for group in groups]
    kept = accumulator_names(groups, accumulators)
    for name, accumulator in zip(kept, accumulators, strict=True):
        read = enumerate(accumulator.expressions)
        outputs += [OutputColumn(f"{name}_{part}", e) for part, e in read]
    selected = select_node(query, stream, predicates, tuple(outputs))
    schema = Schema(tuple(map(column_of, outputs)))
    rows = replace(selected, name=names.fresh(f"{query.name}_rows"), schema=schema)
    sets = expand(names.fresh(f"{query.name}_sets"), rows, query.grouping, len(groups))
    return sets, (), _key(sets, len(groups)), _over(accumulators, sets, len(groups) + 1)


def _key(stream: Node, groups: int) -> Groups:
    """The group variables, and the mask behind them."""
    columns = stream.schema.columns[: groups + 1]
    return tuple(GroupVariable(c.name, ColumnRef.to(c, i)) for i, c in enumerate(columns))


def _over(accumulators: Accumulators, stream: Node, first: int) -> Accumulators:
    """The accumulators over columns, which begin with this one."""
    found = []
    for accumulator in accumulators:
        count = len(tuple(accumulator.expressions))
        places = range(first, first + count)
        read = [ColumnRef.to(stream.schema.columns[place], place) for place in places]
        argument = None if accumulator.argument is None else read.pop(0)
        by = None if accumulator.by is None else read.pop(0)
        found.append(replace(accumulator, argument=argument, by=by, position=tuple(read)))
        first += count
    return tuple(found)
