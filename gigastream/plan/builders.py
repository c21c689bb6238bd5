# SPDX-License-Identifier: Apache-2.0
"""What lowering makes nodes with: names, schemas, orders of columns, nodes above the border."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from gigastream.gsql.expressions import ColumnRef, Expression, Operation
from gigastream.gsql.queries import CheckedQuery, GroupVariable, OutputColumn
from gigastream.gsql.types import Column, Order, Schema, Temporal
from gigastream.plan.nodes import Accumulator, Aggregate, Final, Limit, Node, Select, Union


@dataclass(slots=True)
class NodeNames:
    """Names of nodes: a query's top node has the query's, those below it what is still free."""

    taken: set[str] = field(default_factory=set)
    """In lower case."""

    def reserve(self, names: Iterable[str]) -> None:
        """Keep the names of all queries for their top nodes."""
        self.taken |= {name.lower() for name in names}

    def fresh(self, wanted: str) -> str:
        """The name, with a number behind it if it is taken."""
        candidate, number = wanted, 2
        while candidate.lower() in self.taken:
            candidate, number = f"{wanted}_{number}", number + 1
        self.taken.add(candidate.lower())
        return candidate


def conjuncts(condition: Expression | None) -> tuple[Expression, ...]:
    """The parts of a condition that must all hold."""
    if condition is None:
        return ()
    if isinstance(condition, Operation) and condition.operator == "AND":
        return tuple(part for operand in condition.operands for part in conjuncts(operand))
    return (condition,)


def column_of(output: OutputColumn) -> Column:
    """The column that an output makes; one of a constant says nothing of progress."""
    e = output.expression
    temporal = e.temporal if e.temporal.is_temporal else Temporal.VARYING
    return Column(output.name, e.type, temporal, e.nullable, output.subtype, output.clock)


def progressing(schema: Schema) -> tuple[Order | None, ...]:
    """The order of a stream whose temporal columns may step back."""
    return tuple(
        Order.PROGRESSING if column.temporal.is_temporal else None for column in schema.columns
    )


def union_of(name: str, parts: tuple[Node, ...]) -> Node:
    """The union of streams; a single one is itself."""
    if len(parts) == 1:
        return parts[0]
    columns = zip(*(part.schema.columns for part in parts), strict=True)
    schema = Schema(tuple(map(_shared_column, columns)))
    return Union(name=name, schema=schema, order=progressing(schema), parts=parts)


def _shared_column(columns: tuple[Column, ...]) -> Column:
    """A union's column is temporal only if it is so, in one direction, in every input."""
    first = columns[0]
    agrees = all(column.temporal is first.temporal for column in columns)
    return replace(
        first,
        temporal=first.temporal if agrees else Temporal.VARYING,
        nullable=any(column.nullable for column in columns),
        subtype=first.subtype if len({column.subtype for column in columns}) == 1 else "",
        clock=first.clock if len({column.clock for column in columns}) == 1 else "",
    )


def select_node(
    query: CheckedQuery,
    stream: Node,
    predicates: tuple[Expression, ...],
    outputs: tuple[OutputColumn, ...],
) -> Select:
    """The high selection that is the query's top."""
    return Select(
        name=query.name,
        schema=query.schema,
        order=tuple(_order_through(stream, output.expression) for output in outputs),
        input=stream,
        predicates=predicates,
        outputs=outputs,
    )


def limit_node(query: CheckedQuery, rows: Node, limit: int, names: NodeNames) -> Limit:
    """The end of a selection after so many rows; `rows`, its top so far, gets another name."""
    below = replace(rows, name=names.fresh(f"{query.name}_rows"))
    return Limit(
        name=query.name,
        schema=below.schema,
        order=below.order,
        input=below,
        limit=limit,
        span=query.limit_span,
    )


def _order_through(stream: Node, expression: Expression) -> Order | None:
    """A monotone function of one ordered column is ordered."""
    if not expression.temporal.is_temporal:
        return None
    read = [n for n in leaves(expression) if isinstance(n, ColumnRef) and n.temporal.is_temporal]
    ordered = len(read) == 1 and stream.order[read[0].index] is Order.ORDERED
    return Order.ORDERED if ordered else Order.PROGRESSING


def leaves(expression: Expression) -> Iterator[Expression]:
    """What an expression reads, constants included."""
    if not expression.children:
        yield expression
    for child in expression.children:
        yield from leaves(child)


def aggregate_node(
    query: CheckedQuery,
    name: str,
    stream: Node,
    predicates: tuple[Expression, ...],
    groups: tuple[GroupVariable, ...],
    accumulators: tuple[Accumulator, ...],
    finals: tuple[Final, ...],
    outputs: tuple[OutputColumn, ...],
    *,
    merges_partials: bool,
) -> Aggregate:
    """The high aggregation of a query; `groups` and `accumulators` are over `stream`."""
    temporal = [group for group in groups if group.expression.temporal.is_temporal]
    order = Order.ORDERED if len(temporal) == 1 else Order.PROGRESSING
    schema = Schema(tuple(map(column_of, outputs)))
    return Aggregate(
        name=name,
        schema=schema,
        order=tuple(order if c.temporal.is_temporal else None for c in schema.columns),
        input=stream,
        merges_partials=merges_partials,
        predicates=predicates,
        groups=groups,
        accumulators=accumulators,
        finals=finals,
        having=query.having,
        outputs=outputs,
    )
