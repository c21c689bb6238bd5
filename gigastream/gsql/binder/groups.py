# SPDX-License-Identifier: Apache-2.0
"""Group variables, and expressions over them: what a row's columns are once rows are groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gigastream.gsql.diagnostics import DiagnosticSink
from gigastream.gsql.expressions import ColumnRef, Expression, FieldRef, GroupRef
from gigastream.gsql.queries import GroupVariable
from gigastream.gsql.source import Span
from gigastream.gsql.syntax import ast


@dataclass(frozen=True, slots=True)
class Group:
    """A group variable as written; `variable` is None where it was wrong, and reported."""

    name: str
    """The name by which the query speaks of it; empty for an expression without AS."""
    variable: GroupVariable | None
    span: Span


class Groups:
    """The group variables of a query."""

    def __init__(
        self,
        found: Sequence[Group],
        window_columns: Mapping[str, Expression | None] | None = None,
        *,
        is_distinct: bool = False,
    ) -> None:
        self.found = found
        self._window_columns = window_columns or {}
        self._is_distinct = is_distinct

    @property
    def variables(self) -> tuple[GroupVariable, ...]:
        """Those that are right, in order."""
        return tuple(group.variable for group in self.found if group.variable is not None)

    @property
    def are_known(self) -> bool:
        """True if none of them was wrong."""
        return all(group.variable is not None for group in self.found)

    def expressions(self) -> dict[str, Expression | None]:
        """What their names mean in WHERE and inside of aggregates."""
        return {
            group.name.lower(): None if group.variable is None else group.variable.expression
            for group in self.found
            if group.name
        }

    def references(self) -> dict[str, Expression | None]:
        """What their names mean where groups are spoken of."""
        references: dict[str, Expression | None] = dict(self._window_columns)
        for index, group in self._indexed():
            if group.name:
                references[group.name.lower()] = _reference(index, group)
        return references

    def grouped(self, expression: Expression | None, sink: DiagnosticSink) -> Expression | None:
        """The expression over group variables; an error for a column that is none."""
        if expression is None:
            return None
        for index, group in self._indexed():
            if group.variable is not None and group.variable.expression == expression:
                return _reference(index, group, expression.span)
        if isinstance(expression, FieldRef | ColumnRef):
            self._report(expression, sink)
            return None
        children = [self.grouped(child, sink) for child in expression.children]
        good = tuple(child for child in children if child is not None)
        return expression.with_children(good) if len(good) == len(children) else None

    def _indexed(self) -> list[tuple[int, Group]]:
        """The groups with their positions among those that are right."""
        index, pairs = 0, []
        for group in self.found:
            pairs.append((index, group))
            index += group.variable is not None
        return pairs

    def _report(self, column: FieldRef | ColumnRef, sink: DiagnosticSink) -> None:
        if any(group.variable is None and not group.name for group in self.found):
            return
        name = column.span.text or _name(column)
        if self._is_distinct:
            message = f"{name} does not stand in the list of SELECT DISTINCT"
            hint = f"select {name} too: rows that differ in nothing else are one"
        else:
            message = f"{name} is no group variable and stands in no aggregate"
            hint = f"add {name} to GROUP BY, or write max({name})"
        sink.error("ungrouped-column", message, column.span, hint)


def group_items(elements: Sequence[ast.GroupElement]) -> list[ast.GroupItem]:
    """The group variables that GROUP BY names, each once, in CUBE and its like too."""
    items: list[ast.GroupItem] = []
    for element in elements:
        if isinstance(element, ast.GroupItem):
            items.append(element)
        elif isinstance(element, ast.GroupingSets):
            named = [item for group in element.sets for item in group]
            items += [item for index, item in enumerate(named) if item not in named[:index]]
        else:
            items += element.items
    return items


def _reference(index: int, group: Group, span: Span | None = None) -> GroupRef | None:
    if group.variable is None:
        return None
    expression = group.variable.expression
    return GroupRef(
        type=expression.type,
        temporal=expression.temporal,
        nullable=expression.nullable,
        index=index,
        name=group.variable.name,
        span=span or group.span,
    )


def _name(column: FieldRef | ColumnRef) -> str:
    return column.field if isinstance(column, FieldRef) else column.name
