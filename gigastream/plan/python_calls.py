# SPDX-License-Identifier: Apache-2.0
"""Where a query calls functions in Python, its rows pass through a PythonMap first.

What a function is given is computed below it, for rows that pass the conditions that need no
function in Python; rows that do not pass those that do are given to no function of what is behind.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from gigastream.gsql.expressions import (
    AggregateRef,
    ColumnRef,
    Expression,
    GroupRef,
    Operation,
    PythonCall,
    PythonResult,
    rewrite,
    walk,
)
from gigastream.gsql.queries import OutputColumn
from gigastream.gsql.types import Order, Schema, Temporal, Type
from gigastream.late_dataclass import replace
from gigastream.plan.builders import NodeNames, column_of, conjuncts, named_apart
from gigastream.plan.nodes import Node
from gigastream.plan.operators.aggregate import Aggregate
from gigastream.plan.operators.python_map import python_map
from gigastream.plan.operators.select import Select


class CalledRows:
    """Rows on their way to an operator, and what functions in Python have made of them."""

    def __init__(self, rows: Node, names: NodeNames, name: str) -> None:
        """`name` begins the names of nodes that are made."""
        self.rows = rows
        self.waiting: tuple[Expression, ...] = ()
        """Conditions that are still to be asked, over `rows`."""
        self._names, self._name = names, name
        self._results: list[tuple[PythonCall, PythonResult]] = []

    def where(self, conditions: Sequence[Expression]) -> None:
        """Let those rows pass of which all conditions hold."""
        self.waiting += tuple(c for c in conditions if not calls_python(c))
        called = [c for c in conditions if calls_python(c)]
        self.call(called)
        self.waiting += tuple(map(self.place, called))

    def call(self, expressions: Sequence[Expression]) -> None:
        """Make the results of all calls in expressions, those within others first."""
        while calls := _innermost(map(self.place, expressions)):
            prepared = self._prepared(calls)
            name = self._names.fresh(f"{self._name}_python")
            made = python_map(name, self.rows, prepared)
            self._results += [(call, made.result(at, call)) for at, call in enumerate(calls)]
            self.rows = made

    def place(self, expression: Expression) -> Expression:
        """The expression over `rows`, as far as its calls have been made."""
        return rewrite(expression, self._result_of)

    def over_groups(self, groups: Aggregate) -> Node:
        """The rows of an aggregation whose HAVING and SELECT list may call functions in Python."""
        conditions = conjuncts(groups.having)
        shown = groups.column_expressions
        called = [condition for condition in conditions if calls_python(condition)]
        if not called and not any(map(calls_python, shown)):
            return groups
        below = self._plain_groups(groups, [c for c in conditions if c not in called], called)
        places = {
            output.expression: ColumnRef.to(below.schema.columns[at], at)
            for at, output in enumerate(below.outputs)
        }

        def place(part: Expression) -> Expression:
            return places.get(part, part)

        select = Select(
            name=groups.name,
            schema=groups.schema,
            order=groups.order,
            input=below,
            predicates=tuple(rewrite(condition, place) for condition in called),
            outputs=tuple(
                replace(o, expression=rewrite(o.expression, place)) for o in groups.outputs
            ),
        )
        return select.over_called(CalledRows(below, self._names, self._name))

    def _plain_groups(
        self, groups: Aggregate, conditions: Sequence[Expression], called: Sequence[Expression]
    ) -> Aggregate:
        """The groups of which the conditions hold, with all that the others and SELECT read."""
        read = (part for e in (*called, *groups.column_expressions) for part in walk(e))
        leaves = dict.fromkeys(part for part in read if isinstance(part, GroupRef | AggregateRef))
        outputs = named_apart(OutputColumn(leaf.name, leaf) for leaf in leaves)
        schema = Schema(tuple(map(column_of, outputs)))
        orders = [order for order in groups.order if order is not None]
        order = orders[0] if orders else Order.PROGRESSING
        return replace(
            groups,
            name=self._names.fresh(f"{groups.name}_groups"),
            schema=schema,
            order=tuple(order if c.temporal.is_temporal else None for c in schema.columns),
            having=_together(conditions),
            outputs=outputs,
        )

    def _result_of(self, part: Expression) -> Expression:
        if not isinstance(part, PythonCall):
            return part
        return next((result for call, result in self._results if call == part), part)

    def _prepared(self, calls: Sequence[PythonCall]) -> list[PythonCall]:
        """The calls over columns: what else they are given becomes one, of rows that pass."""
        if not self.waiting and all(map(_is_column, _arguments(calls))):
            return list(calls)
        columns = self.rows.schema.columns
        names = NodeNames()
        names.reserve(column.name for column in columns)
        computed: list[Expression] = []
        for argument in _arguments(calls):
            if not _is_column(argument) and argument not in computed:
                computed.append(argument)
        passed = [
            OutputColumn(c.name, ColumnRef.to(c, i), subtype=c.subtype, clock=c.clock)
            for i, c in enumerate(columns)
        ]
        made = [OutputColumn(names.fresh("argument"), e) for e in computed]
        arguments = (replace(column_of(o), temporal=Temporal.VARYING) for o in made)
        self.rows = Select(
            name=self._names.fresh(f"{self._name}_arguments"),
            schema=Schema((*columns, *arguments)),
            order=(*self.rows.order, *(None for _ in made)),
            input=self.rows,
            predicates=self.waiting,
            outputs=(*passed, *made),
        )
        self.waiting = ()

        def placed(argument: Expression) -> Expression:
            if _is_column(argument):
                return argument
            at = len(columns) + computed.index(argument)
            return ColumnRef.to(self.rows.schema.columns[at], at, span=argument.span)

        return [replace(c, arguments=tuple(map(placed, c.arguments))) for c in calls]


def _together(conditions: Sequence[Expression]) -> Expression | None:
    if len(conditions) < 2:
        return conditions[0] if conditions else None
    return Operation(
        type=Type.BOOL,
        nullable=any(condition.nullable for condition in conditions),
        span=conditions[0].span,
        operator="AND",
        operands=tuple(conditions),
    )


def calls_python(expression: Expression) -> bool:
    """Whether a function in Python is called in it."""
    return any(isinstance(part, PythonCall) for part in walk(expression))


def python_calls(expressions: Iterable[Expression]) -> Iterator[PythonCall]:
    """The calls of functions in Python, parents first."""
    return (p for e in expressions for p in walk(e) if isinstance(p, PythonCall))


def _innermost(expressions: Iterable[Expression]) -> list[PythonCall]:
    """The distinct calls that are given nothing of others."""
    found: list[PythonCall] = []
    for call in python_calls(expressions):
        if not any(map(calls_python, call.arguments)) and call not in found:
            found.append(call)
    return found


def _arguments(calls: Sequence[PythonCall]) -> Iterator[Expression]:
    return (argument for call in calls for argument in call.arguments)


def _is_column(argument: Expression) -> bool:
    return isinstance(argument, ColumnRef)
