# SPDX-License-Identifier: Apache-2.0
"""SELECT: all clauses are read, so that all errors are found, and then put together."""

from __future__ import annotations

from gigastream.gsql.binder.aggregation import (
    Aggregation,
    bind_aggregation,
    bind_distinct,
    bind_groups,
    bind_limit,
)
from gigastream.gsql.binder.closing import check_closing
from gigastream.gsql.binder.columns import Origins, schema_of
from gigastream.gsql.binder.context import BindingContext
from gigastream.gsql.binder.filter_join import FilteredBy, bind_filter, is_filter_join
from gigastream.gsql.binder.groups import Groups
from gigastream.gsql.binder.join import joins_rows, over_joined_rows
from gigastream.gsql.binder.joins import join_conditions
from gigastream.gsql.binder.names import Scope, SourceNames
from gigastream.gsql.binder.sampling import check_cleaning, check_sampling
from gigastream.gsql.binder.select_list import outputs, select_list
from gigastream.gsql.binder.sources import Tables
from gigastream.gsql.binder.statement import Statement, open_statement, refuse_low_only
from gigastream.gsql.binder.watchlist import bind_keys, bind_list, is_of_list, list_match
from gigastream.gsql.binder.windows import BoundWindow, bind_window
from gigastream.gsql.expressions import Expression
from gigastream.gsql.operations.conditions import conjunction, logical
from gigastream.gsql.queries import CheckedQuery, OutputColumn, QueryOptions
from gigastream.gsql.syntax import ast
from gigastream.gsql.syntax.printer import print_query
from gigastream.late_dataclass import replace


def bind_select(
    query: ast.Query,
    body: ast.SelectStatement,
    context: BindingContext,
    tables: Tables,
    options: QueryOptions,
) -> CheckedQuery | None:
    """Check a SELECT; None after errors, which are in the sink."""
    if not body.sources or not body.items:
        return None
    errors = context.sink.error_count
    statement = _opened(query, body, context, tables, options)
    filtered: FilteredBy | None = None
    if is_filter_join(body):
        statement, filtered = bind_filter(statement)
        if filtered is None:
            return None
    if joins_rows(body):
        statement = over_joined_rows(statement)
    window = bind_window(statement)
    groups = bind_groups(statement, window)
    rows = replace(statement.columns, variables=groups.expressions())
    conditions = [] if joins_rows(body) else _conditions(statement, rows)
    found = _columns(statement, groups, rows, conditions)
    of_rows = None if statement.is_aggregation or body.distinct else bind_limit(statement)
    _check_levels(statement, groups, conditions, found)
    check_closing(statement, groups, window)
    check_cleaning(body, context.sink)
    if isinstance(found, Aggregation) and found.sampling is not None:
        check_sampling(statement, groups, window, found.sampling.span)
    if found is None or context.sink.error_count > errors or not statement.sources_are_known:
        return None
    checked = _checked(statement, found, _where(statement, conditions))
    if checked is not None and window is not None:
        checked = _windowed(checked, window)
    if checked is not None and filtered is not None:
        checked = replace(checked, filter=filtered.filter())
    if checked is None or of_rows is None or body.limit is None:
        return checked
    return replace(checked, limit=of_rows, limit_span=body.limit.count.span)


def _opened(
    query: ast.Query,
    body: ast.SelectStatement,
    context: BindingContext,
    tables: Tables,
    options: QueryOptions,
) -> Statement:
    if not is_of_list(body):
        return open_statement(query, body, context, tables, options)

    def listed(node: ast.FromItem) -> SourceNames:
        assert isinstance(node, ast.Table)
        return bind_list(node, tables)

    return bind_keys(open_statement(query, body, context, tables, options, listed))


def _windowed(query: CheckedQuery, window: BoundWindow) -> CheckedQuery:
    """A row in a gap between windows is dropped, and counted, as one that WHERE drops."""
    parts = tuple(e for e in (window.condition, query.where) if e is not None)
    where = logical("AND", parts, window.group.span) if len(parts) > 1 else next(iter(parts), None)
    outputs = tuple(window.with_clock(column) for column in query.outputs)
    schema = schema_of(outputs)
    return replace(query, window=window.window, where=where, outputs=outputs, schema=schema)


def _conditions(statement: Statement, rows: Scope) -> list[Expression | None]:
    """WHERE, and what stands behind ON."""
    binder = statement.binder("WHERE", rows)
    nodes = list(join_conditions(statement.body.sources))
    if statement.body.where is not None:
        nodes.insert(0, statement.body.where)
    match = list_match(statement)
    return [*([] if match is None else [match]), *map(binder.condition, nodes)]


def _where(statement: Statement, conditions: list[Expression | None]) -> Expression | None:
    if statement.joined is not None:
        return statement.joined.filters
    if list_match(statement) is not None:
        return conjunction("AND", conditions, statement.body.span, statement.sink)
    return conditions[0] if statement.body.where is not None else None


Columns = tuple[OutputColumn, ...] | Aggregation


def _columns(
    statement: Statement, groups: Groups, rows: Scope, conditions: list[Expression | None]
) -> Columns | None:
    if statement.body.distinct:
        return bind_distinct(statement, rows)
    if statement.is_aggregation:
        return bind_aggregation(statement, groups, rows, conditions)
    return _selection(statement, rows)


def _selection(statement: Statement, rows: Scope) -> tuple[OutputColumn, ...] | None:
    items = select_list(statement, statement.binder("SELECT", rows))
    body, sink = statement.body, statement.sink
    if body.having is not None:
        hint = "a condition on rows stands in WHERE"
        sink.error("misplaced-clause", "HAVING needs an aggregation", body.having.span, hint)
    if body.order_by:
        message = "ORDER BY needs an aggregation: it sorts the groups of a closed window"
        hint = "group by a window, GROUP BY time/60 AS tb, …; MERGE puts rows in the order of time"
        sink.error("misplaced-clause", message, body.order_by[0].span, hint)
    if body.limit is not None and body.limit.per:
        message = "PER needs an aggregation: it keeps the first rows of each group of a window"
        sink.error("misplaced-clause", message, body.limit.per[0].span)
    return outputs(items, Origins(statement.origins))


def _check_levels(
    statement: Statement,
    groups: Groups,
    conditions: list[Expression | None],
    found: Columns | None,
) -> None:
    """A query that reads a query runs at the high level, all of it."""
    reads_packets = statement.reads_packets and not joins_rows(statement.body)
    if reads_packets or not statement.sources_are_known:
        return
    expressions = [*conditions, *(variable.expression for variable in groups.variables)]
    expressions += [e for aggregate in statement.aggregates.found for e in aggregate.expressions]
    if isinstance(found, tuple):
        expressions += [column.expression for column in found]
    refuse_low_only(expressions, statement.sink)


def _checked(statement: Statement, found: Columns, where: Expression | None) -> CheckedQuery | None:
    """The checked query; its sources are built last, when all names that it uses are known."""
    builds = [item.build for item in statement.items]
    if None in builds:
        return None
    if statement.joined is not None:
        builds = [statement.joined.source]
    columns = found.outputs if isinstance(found, Aggregation) else found
    query = CheckedQuery(
        name=statement.query.name,
        span=statement.query.span,
        text=print_query(statement.query),
        sources=tuple(build() for build in builds if build is not None),
        outputs=columns,
        where=where,
        options=statement.options,
        schema=schema_of(columns),
    )
    return _aggregating(query, found) if isinstance(found, Aggregation) else query


def _aggregating(query: CheckedQuery, found: Aggregation) -> CheckedQuery:
    return replace(
        query,
        is_aggregation=True,
        groups=found.groups,
        grouping=found.grouping,
        aggregates=found.aggregates,
        having=found.having,
        closing_when=found.closing_when,
        order_by=found.order_by,
        limit=found.limit,
        limit_per=found.limit_per,
        sampling=found.sampling,
    )
