# SPDX-License-Identifier: Apache-2.0
"""Aggregation and SELECT DISTINCT: GROUP BY, HAVING, ORDER BY … LIMIT (GSQL section 6.2)."""

from __future__ import annotations

from collections.abc import Sequence

from gigastream.gsql.binder.columns import (
    Origins,
    demand_unique,
    made_name,
    unique,
)
from gigastream.gsql.binder.grouping_sets import group_items, grouping_sets
from gigastream.gsql.binder.groups import Group, Groups
from gigastream.gsql.binder.names import WINDOW_COLUMNS, Scope
from gigastream.gsql.binder.sampling import bind_sampling, samples
from gigastream.gsql.binder.select_list import Item, outputs, select_list
from gigastream.gsql.binder.statement import Statement, refuse_low_only
from gigastream.gsql.binder.windows import BoundWindow, counts_rows
from gigastream.gsql.expressions import Constant, Expression
from gigastream.gsql.operations.conversion import is_flexible
from gigastream.gsql.order.inference import monotone
from gigastream.gsql.queries import (
    AggregateCall,
    GroupingMasks,
    GroupVariable,
    OutputColumn,
    Sampling,
    SortKey,
)
from gigastream.gsql.syntax import ast
from gigastream.late_dataclass import dataclass, replace

_NO_POSITIONS = "positions do not count: name the column"


@dataclass(frozen=True, slots=True)
class Aggregation:
    """The parts of a checked aggregation."""

    outputs: tuple[OutputColumn, ...]
    groups: tuple[GroupVariable, ...]
    aggregates: tuple[AggregateCall, ...] = ()
    having: Expression | None = None
    closing_when: Expression | None = None
    order_by: tuple[SortKey, ...] = ()
    limit: int | None = None
    grouping: GroupingMasks | None = None
    limit_per: tuple[Expression, ...] = ()
    sampling: Sampling | None = None


# GROUP BY


def bind_groups(statement: Statement, window: BoundWindow | None) -> Groups:
    """Bind the group variables; a window is the first."""
    items = group_items(statement.body.group_by)
    given = statement.names_of(items)
    taken = {name.lower() for name in given}
    if window is not None and window.group.variable is not None:
        taken.add(window.group.variable.name)
    found = [
        _group(statement, item, name, position, taken)
        for position, (item, name) in enumerate(zip(items, given, strict=True), 1)
    ]
    names = [(group.name, group.span) for group in found]
    demand_unique(names, "group variable", statement.sink)
    first = 0 if statement.body.window is None else 1
    sets = grouping_sets(statement.body.group_by, first, statement.sink)
    if window is not None:
        groups = Groups([window.group, *found], window.columns, sets=sets)
    elif statement.body.window is None:
        groups = Groups(found, sets=sets)
    else:
        wrong = Group("", None, statement.body.window.span)
        return Groups([wrong, *found], dict.fromkeys(WINDOW_COLUMNS))
    _demand_times_in_all(statement, groups)
    return groups


def _demand_times_in_all(statement: Statement, groups: Groups) -> None:
    """Report times that not every grouping set has: the groups without them would never end."""
    for group in groups.rolled_up:
        if group.variable is not None and group.variable.expression.temporal.is_temporal:
            message = f"{group.span.text} is temporal, and not every grouping set has it"
            hint = f"write it before them: GROUP BY {group.span.text}, CUBE(…)"
            statement.sink.error("temporal-rolled-up", message, group.span, hint)


def _group(
    statement: Statement, item: ast.GroupItem, name: str, position: int, taken: set[str]
) -> Group:
    binder = statement.binder("GROUP BY", statement.columns)
    errors = statement.sink.error_count
    expression = binder.bind(_meant(statement, item.expression))
    if statement.sink.error_count > errors:
        expression = None
    if isinstance(expression, Constant):
        message = "a group variable must not be a constant"
        hint = _NO_POSITIONS if is_flexible(expression) else None
        statement.sink.error("constant-group", message, item.span, hint)
        expression = None
    if expression is None:
        return Group(name, None, item.span)
    shown = name or unique(made_name(item.expression.span, position), taken)
    return Group(name, GroupVariable(shown, expression), item.span)


def _meant(statement: Statement, node: ast.SyntaxExpression) -> ast.SyntaxExpression:
    """`GROUP BY tb` may name a column of the SELECT list, `time/60 AS tb`, if no source has it."""
    if not isinstance(node, ast.Name) or node.qualifier:
        return node
    for source in statement.columns.sources:
        if not source.is_known or source.find(node.name, node.span) is not None:
            return node
    for item in statement.body.items:
        if item.alias is not None and item.alias.lower() == node.name.lower():
            return item.expression
    return node


# The two forms


def bind_aggregation(
    statement: Statement, groups: Groups, rows: Scope, conditions: Sequence[Expression | None]
) -> Aggregation | None:
    """Bind SELECT, HAVING and ORDER BY of an aggregation; None after errors.

    `conditions` are those of WHERE.
    """
    scope = replace(statement.columns, variables=groups.references())
    items = select_list(statement, statement.group_binder("SELECT", scope, rows, groups))
    items = [_grouped(statement, groups, item) for item in items]
    aliases = {item.name.lower(): item.expression for item in items if item.name}
    named = replace(scope, aliases=aliases)
    having = _condition(statement, groups, "HAVING", statement.body.having, named, rows)
    closing_when = statement.body.closing_when
    closing = _condition(statement, groups, "CLOSING_WHEN", closing_when, named, rows)
    sampling = bind_sampling(statement, groups, named, rows)
    by_name = replace(scope, variables={**aliases, **groups.references()})
    order = _order(statement, groups, by_name, rows)
    limit, per = _limit_of_windows(statement, groups, by_name, rows)
    demand_temporal(statement, groups)
    refuse_low_only([having, closing, *(item.expression for item in items)], statement.sink)
    if not groups.are_known:
        return None
    aggregates = statement.aggregates.found
    origins = Origins(statement.origins, groups.variables, aggregates)
    columns = outputs(items, origins)
    if columns is None:
        return None
    sampling = replace(sampling, superaggregates=statement.superaggregates.found)
    read = [*conditions, having, *(column.expression for column in columns)]
    read += [key.expression for key in order]
    read += [e for call in aggregates for e in call.expressions]
    is_sampling = samples(sampling, statement.body, (e for e in read if e is not None))
    return Aggregation(
        *(columns, groups.variables, aggregates, having, closing, order, limit, groups.masks, per),
        sampling if is_sampling else None,
    )


def bind_distinct(statement: Statement, rows: Scope) -> Aggregation | None:
    """SELECT DISTINCT: a group for each row that differs, and nothing beside it."""
    body = statement.body
    if body.group_by:
        message = "SELECT DISTINCT has no GROUP BY: its columns are the groups"
        statement.sink.error("misplaced-clause", message, body.group_by[0].span)
    if body.having is not None:
        hint = "a condition on rows stands in WHERE"
        message = "SELECT DISTINCT has no HAVING"
        statement.sink.error("misplaced-clause", message, body.having.span, hint)
    items = select_list(statement, statement.binder("SELECT DISTINCT", rows))
    taken = {item.name.lower() for item in items if item.name}
    found = [_column_group(item, n, taken) for n, item in enumerate(items, 1)]
    groups = Groups(found, is_distinct=True)
    scope = replace(rows, variables=groups.references())
    order = _order(statement, groups, scope, rows)
    limit, per = _limit_of_windows(statement, groups, scope, rows)
    demand_temporal(statement, groups)
    grouped = [_grouped(statement, groups, item) for item in items]
    columns = outputs(grouped, Origins(statement.origins, groups.variables))
    if columns is None:
        return None
    return Aggregation(columns, groups.variables, order_by=order, limit=limit, limit_per=per)


def _column_group(item: Item, position: int, taken: set[str]) -> Group:
    name = item.name or unique(made_name(item.span, position), taken)
    variable = None if item.expression is None else GroupVariable(name, item.expression)
    return Group(name, variable, item.span)


def _grouped(statement: Statement, groups: Groups, item: Item) -> Item:
    return replace(item, expression=groups.grouped(item.expression, statement.sink))


# Their clauses


def _condition(
    statement: Statement,
    groups: Groups,
    clause: str,
    node: ast.SyntaxExpression | None,
    scope: Scope,
    rows: Scope,
) -> Expression | None:
    """A condition on groups."""
    if node is None:
        return None
    binder = statement.group_binder(clause, scope, rows, groups)
    return groups.grouped(binder.condition(node), statement.sink)


def _order(statement: Statement, groups: Groups, scope: Scope, rows: Scope) -> tuple[SortKey, ...]:
    found = []
    for item in statement.body.order_by:
        bound = _of_groups(statement, groups, scope, rows, item.expression, "ORDER BY")
        if isinstance(bound, Constant):
            message = "ORDER BY a constant sorts nothing"
            statement.sink.error("constant-order", message, item.span, _NO_POSITIONS)
        elif bound is not None:
            found.append(SortKey(bound, item.descending))
    return tuple(found)


def _of_groups(
    statement: Statement,
    groups: Groups,
    scope: Scope,
    rows: Scope,
    node: ast.SyntaxExpression,
    clause: str,
) -> Expression | None:
    """What a clause behind the groups says of one of them."""
    if statement.body.distinct:
        binder = statement.binder(clause, scope)
    else:
        binder = statement.group_binder(clause, scope, rows, groups)
    return groups.grouped(binder.bind(node), statement.sink)


def _limit_of_windows(
    statement: Statement, groups: Groups, scope: Scope, rows: Scope
) -> tuple[int | None, tuple[Expression, ...]]:
    """LIMIT, and the groups of which each has it."""
    node = statement.body.limit
    if node is not None and not statement.body.order_by:
        message = "LIMIT needs ORDER BY: it keeps the first groups of each closed window"
        hint = "ORDER BY count(*) DESC, or what else makes the first ones"
        statement.sink.error("misplaced-clause", message, node.count.span, hint)
    items = () if node is None else node.per
    per = []
    for item in items:
        bound = _of_groups(statement, groups, scope, rows, item, "PER")
        if isinstance(bound, Constant):
            message = "PER a constant is one group: the window"
            statement.sink.error("constant-order", message, item.span, _NO_POSITIONS)
        elif bound is not None:
            per.append(bound)
    return bind_limit(statement), tuple(per)


def bind_limit(statement: Statement) -> int | None:
    """Bind LIMIT: a number of rows, or None."""
    node = statement.body.limit
    if node is None:
        return None
    bound = statement.binder("LIMIT", Scope(())).bind(node.count)
    if isinstance(bound, Constant) and bound.type.is_integer and int(bound.value or 0) >= 0:
        return int(bound.value or 0)
    if bound is not None:
        message = "LIMIT takes a whole number, not below 0"
        statement.sink.error("wrong-type", message, node.count.span)
    return None


# A group must end


def demand_temporal(statement: Statement, groups: Groups) -> None:
    """Report groups that would never be complete: none of their variables is temporal.

    One that is, and stands still all the same, may be a column of another query: the plan knows
    (gigastream/plan/standing.py).
    """
    if statement.options.no_temporal_aggr or not groups.are_known:
        return
    windowed = statement.body.window is not None
    windowed |= any(item.node.window is not None for item in statement.items)
    moving = any(variable.expression.temporal.is_temporal for variable in groups.variables)
    follows_packets = statement.reads_packets and statement.joined is None
    if moving and follows_packets and not counts_rows(statement.body.window):
        _warn_of_clockless(statement, groups)
    if windowed or moving or not statement.sources_are_known:
        return
    message, hint = _untimed(statement, groups)
    spans = [group.span for group in groups.found] or [i.span for i in statement.body.items]
    span = spans[0].to(spans[-1])
    if statement.context.is_finite:
        statement.sink.warning("answered-once", f"{message}: {_AT_THE_END}", span)
        return
    message += ": no group would ever be complete"
    statement.sink.error("no-temporal-group", message, span, hint)


_AT_THE_END = "one answer comes, when all input has been read"


def _warn_of_clockless(statement: Statement, groups: Groups) -> None:
    """Say so where no group variable is known to follow the packets' time."""
    functions = [monotone(variable.expression) for variable in groups.variables]
    if any(
        function is not None and function.over_timestamp() is not None for function in functions
    ):
        return
    moving = next(
        group
        for group in groups.found
        if group.variable is not None and group.variable.expression.temporal.is_temporal
    )
    message = "this does not follow the packets' time: its groups are answered at the end only"
    hint = "group by time/60 too, and they are answered minute by minute"
    statement.sink.warning("no-clock", message, moving.span, hint)


def _untimed(statement: Statement, groups: Groups) -> tuple[str, str]:
    """What is wrong, and how to mend it."""
    example = _temporal_example(statement)
    switch = "DEFINE { no_temporal_aggr true; } for one answer at the end"
    if statement.body.distinct:
        message, mended = "no column of SELECT DISTINCT is temporal", f"select {example} too"
    elif groups.found:
        message, mended = "no group variable is temporal", f"add {example} to GROUP BY"
    else:
        message = "an aggregation needs a temporal group variable"
        mended = f"add GROUP BY {example}"
    if not example:
        mended = f"{statement.items[0].names.shown} has no temporal column"
        switch = f"write {switch}"
    return message, f"{mended}, or {switch}" if example else f"{mended}: {switch}"


def _temporal_example(statement: Statement) -> str:
    """A temporal column that the rows have; empty if they have none."""
    for item in statement.items:
        for name, column in item.names.everything(statement.body.span):
            if not column.temporal.is_temporal:
                continue
            owner = f"{item.names.shown}." if len(statement.items) > 1 else ""
            if not statement.columns.as_seen([column]).temporal.is_temporal:
                if name.lower() not in statement.columns.equated:
                    continue
                owner = ""  # of a full join the name alone is temporal, and neither side's
            return f"{owner}time/60 AS tb" if name == "time" else owner + name
    return ""
