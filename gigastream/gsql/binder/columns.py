# SPDX-License-Identifier: Apache-2.0
"""The columns of a query's output: their names, and what is known of them beside their types."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from gigastream.gsql.binder.names import PacketNames, SourceNames, StreamNames
from gigastream.gsql.diagnostics import DiagnosticSink
from gigastream.gsql.expressions import (
    AggregateRef,
    ColumnRef,
    Expression,
    FieldRef,
    GroupRef,
)
from gigastream.gsql.queries import AggregateCall, GroupVariable, OutputColumn
from gigastream.gsql.source import Span
from gigastream.gsql.syntax import ast
from gigastream.gsql.types import Column, Schema, Temporal

_LONGEST_MADE_NAME = 40


def written_name(item: ast.SelectItem | ast.GroupItem) -> str:
    """The name that a query gives a column: behind AS, or that of the column itself."""
    if item.alias is not None:
        return item.alias
    return item.expression.name if isinstance(item.expression, ast.Name) else ""


def written_names(items: Sequence[ast.SelectItem | ast.GroupItem]) -> list[str]:
    """The names that a join's query gives its columns: `a.ts, b.ts` are a_ts and b_ts."""
    names = [written_name(item) for item in items]
    counts = Counter(name.lower() for name in names)
    return [
        name if counts[name.lower()] == 1 else _qualified_name(item)
        for name, item in zip(names, items, strict=True)
    ]


def _qualified_name(item: ast.SelectItem | ast.GroupItem) -> str:
    name = item.expression
    if item.alias is None and isinstance(name, ast.Name) and name.qualifier:
        return f"{name.qualifier[-1]}_{name.name}"
    return written_name(item)


def made_name(span: Span, position: int) -> str:
    """A name for an expression without one: `sum(len)` is sum_len, `time/60` is time_60."""
    words = re.findall(r"[A-Za-z0-9_]+", span.text)
    name = "_".join(words)
    if not name or name[0].isdigit() or len(name) > _LONGEST_MADE_NAME:
        return f"column_{position}"
    return name


def unique(name: str, taken: set[str]) -> str:
    """The name, with a number behind it if it is taken; it is taken then."""
    candidate, number = name, 2
    while candidate.lower() in taken:
        candidate, number = f"{name}_{number}", number + 1
    taken.add(candidate.lower())
    return candidate


def demand_unique(items: Sequence[tuple[str, Span]], what: str, sink: DiagnosticSink) -> None:
    """Report names that the query gives twice."""
    seen: set[str] = set()
    for name, span in items:
        if name and name.lower() in seen:
            message = f"a second {what} called {name}"
            sink.error("duplicate-name", message, span, "give one of them another name with AS")
        seen.add(name.lower())


_PASSING = ("MIN", "MAX", "FIRST", "LAST", "ANY_VALUE", "ARG_MIN", "ARG_MAX", "MODE")
"""Aggregates that give one of the values that they are told of."""


class Origins:
    """Follows a column that is passed on unchanged back to where it is declared."""

    def __init__(
        self,
        sources: Sequence[SourceNames],
        groups: Sequence[GroupVariable] = (),
        aggregates: Sequence[AggregateCall] = (),
    ) -> None:
        self._sources = sources
        self._groups = groups
        self._aggregates = aggregates

    def output(self, name: str, expression: Expression) -> OutputColumn:
        """The output column, with the subtype and the clock of what it passes on."""
        subtype, clock = self._described(expression)
        clock = clock if expression.temporal.is_temporal else ""
        return OutputColumn(name, expression, subtype, clock)

    def _described(self, expression: Expression) -> tuple[str, str]:
        subtype, clock = self._found(expression)
        return "" if expression.is_chosen else subtype, clock

    def _found(self, expression: Expression) -> tuple[str, str]:
        if isinstance(expression, GroupRef):
            return self._described(self._groups[expression.index].expression)
        if isinstance(expression, AggregateRef):
            return self._of_aggregate(self._aggregates[expression.index])
        source = self._sources[getattr(expression, "port", 0)] if self._sources else None
        if isinstance(expression, FieldRef) and isinstance(source, PacketNames):
            return source.declared(expression).subtype, expression.clock
        if isinstance(expression, ColumnRef) and isinstance(source, StreamNames):
            column = source.schema.columns[expression.index]
            return column.subtype, column.clock
        return "", ""

    def _of_aggregate(self, aggregate: AggregateCall) -> tuple[str, str]:
        """The least of some MAC addresses is one, their number is not."""
        passes = aggregate.function in _PASSING
        if not passes or aggregate.argument is None:
            return "", ""
        return self._described(aggregate.argument)[0], ""


def schema_of(outputs: Sequence[OutputColumn]) -> Schema:
    """The schema of these columns."""
    return Schema(
        tuple(
            Column(
                name=output.name,
                type=output.expression.type,
                temporal=_moving(output.expression),
                nullable=output.expression.nullable,
                subtype=output.subtype,
                clock=output.clock,
            )
            for output in outputs
        )
    )


def _moving(expression: Expression) -> Temporal:
    """A column of one constant says nothing of progress."""
    return expression.temporal if expression.temporal.is_temporal else Temporal.VARYING
