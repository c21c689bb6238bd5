# SPDX-License-Identifier: Apache-2.0
"""What lowering makes nodes with: names, schemas, orders of columns."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence

from gigastream.gsql.expressions import Expression, Operation
from gigastream.gsql.queries import OutputColumn
from gigastream.gsql.types import Column, Order, Schema, Temporal
from gigastream.late_dataclass import dataclass, field, replace


@dataclass(slots=True)
class NodeNames:
    """Names that we make up, beside those that a query gives: of nodes, and of columns below.

    No two differ in case alone: Spark and databases would take one for the other.
    """

    taken: set[str] = field(default_factory=set)
    """In lower case."""

    def reserve(self, names: Iterable[str]) -> None:
        """Keep the names that a query gives: of queries for their top nodes, of group variables."""
        self.taken |= {name.lower() for name in names}

    def fresh(self, wanted: str, suffixes: Sequence[str] = ("",)) -> str:
        """The name, with a number behind it if, with one of the suffixes, it is taken."""
        candidate, number = wanted, 2
        while not self.taken.isdisjoint(_with(candidate, suffixes)):
            candidate, number = f"{wanted}_{number}", number + 1
        self.reserve(_with(candidate, suffixes))
        return candidate


def _with(name: str, suffixes: Sequence[str]) -> set[str]:
    return {f"{name}{suffix}".lower() for suffix in suffixes}


def named_apart(columns: Iterable[OutputColumn]) -> tuple[OutputColumn, ...]:
    """The columns, none of which has the name of another."""
    names = NodeNames()
    return tuple(replace(column, name=names.fresh(column.name)) for column in columns)


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
    return _order(schema, Order.PROGRESSING)


def ordered(schema: Schema) -> tuple[Order | None, ...]:
    """The order of a stream whose temporal columns do not step back."""
    return _order(schema, Order.ORDERED)


def _order(schema: Schema, order: Order) -> tuple[Order | None, ...]:
    return tuple(order if column.temporal.is_temporal else None for column in schema.columns)


def ordered_on(schema: Schema, ordered: int) -> tuple[Order | None, ...]:
    """The order of a stream of which one temporal column never steps back."""
    found = list(progressing(schema))
    found[ordered] = Order.ORDERED
    return tuple(found)


def first_temporal(schema: Schema, among: Container[int] | None = None) -> int | None:
    """The first temporal column that every row has, perhaps of these alone."""
    for index, column in enumerate(schema.columns):
        is_meant = among is None or index in among
        if is_meant and column.temporal.is_temporal and not column.nullable:
            return index
    return None


def leaves(expression: Expression) -> Iterator[Expression]:
    """What an expression reads, constants included."""
    if not expression.children:
        yield expression
    for child in expression.children:
        yield from leaves(child)
