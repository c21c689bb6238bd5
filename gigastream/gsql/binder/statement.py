# SPDX-License-Identifier: Apache-2.0
"""A SELECT under analysis: what all its clauses share."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gigastream.gsql.binder.aggregates import Aggregates, is_aggregate
from gigastream.gsql.binder.columns import written_name, written_names
from gigastream.gsql.binder.context import BindingContext
from gigastream.gsql.binder.expressions import Binder, ClauseContext
from gigastream.gsql.binder.grouping_sets import group_items
from gigastream.gsql.binder.groups import Groups
from gigastream.gsql.binder.join_rows import JoinedNames, JoinedRows
from gigastream.gsql.binder.joins import equated_names, flat_sources, join_conditions
from gigastream.gsql.binder.names import PacketNames, Scope, SourceNames, narrow
from gigastream.gsql.binder.sources import SourceItem, Tables, bind_source
from gigastream.gsql.binder.stateful import Superaggregates
from gigastream.gsql.diagnostics import DiagnosticSink
from gigastream.gsql.expressions import Expression, FunctionCall, walk
from gigastream.gsql.queries import QueryOptions
from gigastream.gsql.syntax import ast
from gigastream.late_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Statement:
    """A SELECT, its sources, and where its aggregates are collected."""

    query: ast.Query
    body: ast.SelectStatement
    context: BindingContext
    options: QueryOptions
    items: tuple[SourceItem, ...]
    columns: Scope
    """The columns of the sources."""
    aggregates: Aggregates
    superaggregates: Superaggregates
    joined: JoinedRows | None = None
    """What a join's clauses are about."""

    def names_of(self, items: Sequence[ast.SelectItem | ast.GroupItem]) -> list[str]:
        """What the query calls these columns; empty where it gives one no name."""
        return (
            written_names(items)
            if len(self.columns.sources) > 1
            else list(map(written_name, items))
        )

    @property
    def origins(self) -> tuple[SourceNames, ...]:
        """Where the columns of rows are declared."""
        return self.columns.sources if self.joined is None else (JoinedNames(self.joined),)

    @property
    def sink(self) -> DiagnosticSink:
        return self.context.sink

    @property
    def sources_are_known(self) -> bool:
        """True if no FROM item was wrong."""
        return all(item.build is not None for item in self.items) and all(
            names.is_known for names in self.columns.sources
        )

    @property
    def reads_packets(self) -> bool:
        """True if it runs, or begins, at the low level."""
        return any(item.is_packets for item in self.items)

    @property
    def is_aggregation(self) -> bool:
        """True if its output is of groups, not of rows."""
        if self.body.group_by or self.body.distinct:
            return True
        clauses = [item.expression for item in self.body.items]
        clauses += [item.expression for item in self.body.order_by]
        clauses += [*_present(self.body.having), *_present(self.body.closing_when)]
        calls = (node for clause in clauses for node in ast.walk(clause))
        return any(
            isinstance(node, ast.Call) and is_aggregate(node.name, self.context) for node in calls
        )

    def binder(self, clause: str, scope: Scope) -> Binder:
        """A binder of a clause without aggregates."""
        is_of_groups = clause == "WHERE" and self.is_aggregation and not self.body.distinct
        superaggregates = self.superaggregates if is_of_groups else None
        place = ClauseContext(clause, superaggregates=superaggregates)
        return Binder(self.context, scope, place)

    def group_binder(self, clause: str, scope: Scope, rows: Scope, groups: Groups) -> Binder:
        """A binder of a clause that speaks of groups, and inside of aggregates of rows."""
        place = ClauseContext(clause, self.aggregates, rows, groups, self.superaggregates)
        return Binder(self.context, scope, place)


def open_statement(
    query: ast.Query,
    body: ast.SelectStatement,
    context: BindingContext,
    tables: Tables,
    options: QueryOptions,
    bind_list: Callable[[ast.FromItem], SourceNames] | None = None,
) -> Statement:
    """Bind the sources of a SELECT; by `bind_list` the last, which is a list."""
    nodes = list(flat_sources(body.sources))
    listed = None if bind_list is None else bind_list(nodes.pop())
    items = tuple(bind_source(node, index, tables) for index, node in enumerate(nodes))
    joined = [*join_conditions(body.sources), *_present(body.where)]
    equated = equated_names(joined) if len(nodes) > 1 or listed is not None else {}
    windows = [body.window, *(item.node.window for item in items)]
    names = (*(item.names for item in items), *([] if listed is None else [listed]))
    columns = Scope(names, is_windowed=any(windows), equated=equated)
    _narrow(body, columns)
    may_be_of_nothing = not (body.group_by or body.window or options.lfta_aggregation)
    goes_on = body.closing_when is not None
    aggregates = Aggregates(may_be_of_nothing=may_be_of_nothing, goes_on=goes_on)
    superaggregates = Superaggregates(aggregates)
    return Statement(query, body, context, options, items, columns, aggregates, superaggregates)


def _present(node: ast.SyntaxExpression | None) -> list[ast.SyntaxExpression]:
    return [] if node is None else [node]


# ipversion = 4


def _narrow(body: ast.SelectStatement, columns: Scope) -> None:
    """Where WHERE lets only one IP family through, its fields are those of that family."""
    variables = {(item.alias or "").lower() for item in group_items(body.group_by)}
    for found in map(_ip_version, _conjuncts(body.where)):
        if found is None or (not found[0].qualifier and "ipversion" in variables):
            continue
        name, version = found
        meant = columns.candidates(name.qualifier)
        if len(meant) == 1 and isinstance(meant[0], PacketNames):
            narrow(meant[0], version)


def _conjuncts(node: ast.SyntaxExpression | None) -> list[ast.SyntaxExpression]:
    if isinstance(node, ast.Logical) and node.op == "AND":
        return [part for operand in node.operands for part in _conjuncts(operand)]
    return _present(node)


def _ip_version(node: ast.SyntaxExpression) -> tuple[ast.Name, int] | None:
    """The name and the number of `ipversion = 4`."""
    if not (isinstance(node, ast.Comparison) and node.op == "="):
        return None
    for name, value in ((node.left, node.right), (node.right, node.left)):
        if not (isinstance(name, ast.Name) and isinstance(value, ast.Literal)):
            continue
        if name.name.lower() == "ipversion" and value.value in (4, 6):
            return name, 4 if value.value == 4 else 6
    return None


# LFTA_ONLY


def refuse_low_only(expressions: list[Expression | None], sink: DiagnosticSink) -> None:
    """Report LFTA_ONLY functions of groups, or of a query's output: both are at the high level."""
    for expression in expressions:
        for node in walk(expression) if expression is not None else ():
            if isinstance(node, FunctionCall) and not node.hfta_legal:
                message = f"{node.name} runs at the low level only, on packets"
                hint = "make it a column of a query that reads packets, or GROUP BY it there"
                sink.error("lfta-only", message, node.span, hint)
