# SPDX-License-Identifier: Apache-2.0
"""Group variables, and expressions over them: what a row's columns are once rows are groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gigastream.gsql.binder.grouping_sets import SetsWritten
from gigastream.gsql.diagnostics import DiagnosticSink, closest
from gigastream.gsql.expressions import (
    ColumnRef,
    Constant,
    Expression,
    FieldRef,
    GroupRef,
    Operation,
)
from gigastream.gsql.queries import GroupingMasks, GroupVariable
from gigastream.gsql.source import Span
from gigastream.gsql.types import Temporal, Type
from gigastream.late_dataclass import dataclass


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
        sets: SetsWritten | None = None,
        is_distinct: bool = False,
    ) -> None:
        self.found = found
        self.sets = sets
        self._rolled_up = sets.rolled_up if sets is not None else ()
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

    @property
    def masks(self) -> GroupingMasks | None:
        """Its grouping sets, where there are several."""
        return None if self.sets is None else self.sets.masks

    @property
    def rolled_up(self) -> list[Group]:
        """Those that are not in every grouping set."""
        return [self.found[position] for position in self._rolled_up]

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
                references[group.name.lower()] = self._reference(index, group)
        return references

    def rolled(self, expression: Expression) -> Expression:
        """What stands for it where groups are spoken of, if it is not in every grouping set.

        It may be NULL there, which all that is made of it must know.
        """
        for position, group in enumerate(self.found):
            variable = group.variable if position in self._rolled_up else None
            if variable is not None and variable.expression == expression:
                return self._reference(position, group, expression.span) or expression
        return expression

    def grouped(self, expression: Expression | None, sink: DiagnosticSink) -> Expression | None:
        """The expression over group variables; an error for a column that is none."""
        if expression is None:
            return None
        for index, group in self._indexed():
            if group.variable is not None and group.variable.expression == expression:
                return self._reference(index, group, expression.span)
        if isinstance(expression, FieldRef | ColumnRef):
            self._report(expression, sink)
            return None
        children = [self.grouped(child, sink) for child in expression.children]
        good = tuple(child for child in children if child is not None)
        return expression.with_children(good) if len(good) == len(children) else None

    def grouping(self, variables: Sequence[GroupRef], span: Span) -> Expression:
        """A bit for each, that of the last the lowest: set where a group is without it."""
        bits = [self._lacks(v.index, place, span) for place, v in enumerate(reversed(variables))]
        found = [bit for bit in bits if bit is not None]
        total: Expression = _number(0, span)
        for bit in found:
            total = bit if bit is found[0] else _operation("|", total, bit, span)
        return total

    def _lacks(self, index: int, place: int, span: Span) -> Expression | None:
        """The bit of a group's mask that says that it has no such variable, at this place."""
        if index not in self._rolled_up:
            return None
        mask = GroupRef(type=Type.UINT, index=len(self.found), name="grouping_mask", span=span)
        bit = self._rolled_up.index(index)
        shifted = _operation("&", _shifted(">>", mask, bit, span), _number(1, span), span)
        return _shifted("<<", shifted, place, span)

    def _reference(self, index: int, group: Group, span: Span | None = None) -> GroupRef | None:
        if group.variable is None:
            return None
        expression = group.variable.expression
        is_rolled_up = index in self._rolled_up
        return GroupRef(
            type=expression.type,
            temporal=Temporal.VARYING if is_rolled_up else expression.temporal,
            nullable=expression.nullable or is_rolled_up,
            index=index,
            name=group.variable.name,
            span=span or group.span,
        )

    def _indexed(self) -> list[tuple[int, Group]]:
        """The groups with their positions among those that are right."""
        index, pairs = 0, []
        for group in self.found:
            pairs.append((index, group))
            index += group.variable is not None
        return pairs

    def _report(self, column: FieldRef | ColumnRef, sink: DiagnosticSink) -> None:
        wrong = [group.name for group in self.found if group.variable is None]
        if any(not name or closest(name, [_name(column)]) for name in wrong):
            return  # it may be the one that was meant
        name = column.span.text or _name(column)
        if self._is_distinct:
            message = f"{name} does not stand in the list of SELECT DISTINCT"
            hint = f"select {name} too: rows that differ in nothing else are one"
        else:
            message = f"{name} is no group variable and stands in no aggregate"
            hint = f"add {name} to GROUP BY, or write max({name})"
        sink.error("ungrouped-column", message, column.span, hint)


def _name(column: FieldRef | ColumnRef) -> str:
    return column.field if isinstance(column, FieldRef) else column.name


def _number(value: int, span: Span, type_: Type = Type.UINT) -> Constant:
    return Constant(type=type_, temporal=Temporal.CONSTANT, value=value, span=span)


def _shifted(operator: str, value: Expression, places: int, span: Span) -> Expression:
    if places == 0:
        return value
    return _operation(operator, value, _number(places, span, Type.ULLONG), span)


def _operation(operator: str, left: Expression, right: Expression, span: Span) -> Operation:
    return Operation(type=Type.UINT, operator=operator, operands=(left, right), span=span)
