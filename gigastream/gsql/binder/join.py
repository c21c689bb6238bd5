# SPDX-License-Identifier: Apache-2.0
"""Joins: FROM and the conditions of a SELECT that reads several sources (GSQL section 6.8).

The conditions are bound twice. Once as they stand, so that what is wrong in them is reported and it
is known which sources each reads; then where they belong (join_tree.py): over the rows of one
source, over the two sides of a join, or over joined rows, where a side may be absent.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gigastream.gsql.binder.aggregation import bind_groups
from gigastream.gsql.binder.expressions import Binder
from gigastream.gsql.binder.grouping_sets import group_items
from gigastream.gsql.binder.join_errors import (
    refuse_empty_bands,
    refuse_outsiders,
    refuse_spellings,
    refuse_unbounded,
    refuse_void_test,
    refuse_wide_bands,
)
from gigastream.gsql.binder.join_predicate import Compared, Predicate
from gigastream.gsql.binder.join_rows import JoinedRows, Rows, Seen, SourceRows, at_home
from gigastream.gsql.binder.join_tree import (
    Branch,
    Conjunct,
    Tree,
    conjuncts_of,
    tree_of,
)
from gigastream.gsql.binder.join_windows import InputWindow, bind_windows, relate_windows
from gigastream.gsql.binder.join_zeros import with_zeros
from gigastream.gsql.binder.joins import is_join, join_conditions
from gigastream.gsql.binder.names import Scope
from gigastream.gsql.binder.sampling import refuse_in_join
from gigastream.gsql.binder.statement import Statement, refuse_low_only
from gigastream.gsql.diagnostics import DiagnosticSink
from gigastream.gsql.expressions import Constant, Expression, ports_of
from gigastream.gsql.operations import conditions as operations
from gigastream.gsql.syntax import ast
from gigastream.late_dataclass import dataclass, replace


def joins_rows(body: ast.SelectStatement) -> bool:
    """True if a SELECT is about joined rows: the others let packets of one source through."""
    lets_through = body.join is not None and body.join.kind in ("FILTER", "WATCHLIST")
    return is_join(body) and not lets_through


def over_joined_rows(statement: Statement) -> Statement:
    """The same, where names mean columns of joined rows; as it is after errors."""
    rows = _joined_rows(statement)
    if rows is None:
        return statement
    seen = with_zeros(rows) if statement.options.outer_default == "zero" else rows.joined
    return replace(statement, columns=replace(statement.columns, seen=seen), joined=rows)


def _joined_rows(statement: Statement) -> JoinedRows | None:
    """The rows that a SELECT's other clauses are about; None after errors."""
    errors = statement.sink.error_count
    refuse_spellings(statement)
    if statement.sink.error_count > errors:
        return None
    tree = _tree(statement)
    windows = bind_windows(statement)
    if tree is None or not statement.sources_are_known or statement.sink.error_count > errors:
        return None
    rows = _Binding(statement, windows).rows(tree)
    assert isinstance(rows, JoinedRows)
    return rows if statement.sink.error_count == errors else None


# Which sources a condition reads


def _tree(statement: Statement) -> Tree | None:
    """The tree with every condition in its place."""
    plain = _with_variables(statement, statement.columns)
    nodes = list(join_conditions(statement.body.sources))
    errors = statement.sink.error_count
    for node in [*nodes, *([] if statement.body.where is None else [statement.body.where])]:
        bound = statement.binder("WHERE", plain).condition(node)
        if bound is not None:
            refuse_in_join(bound, statement.sink)
    if statement.sink.error_count > errors:
        return None
    behind_on = {id(node): _conjuncts(statement, plain, node) for node in nodes}
    where = _conjuncts(statement, plain, statement.body.where)
    everything = [*where, *(c for found in behind_on.values() for c in found)]
    tree = tree_of(statement.body, _related(statement, plain, everything), behind_on)
    refuse_outsiders(statement, tree)
    if statement.sink.error_count > errors:
        return None
    for conjunct in where:
        tree.select(conjunct)
    return tree


def _conjuncts(
    statement: Statement, plain: Scope, node: ast.SyntaxExpression | None
) -> list[Conjunct]:
    binder = _quiet(statement).binder("WHERE", plain)
    found = []
    for part in conjuncts_of(node):
        bound = binder.condition(part)
        if bound is not None and not (isinstance(bound, Constant) and bound.value is True):
            found.append(Conjunct(part, _ports_named(binder, part)))
    return found


def _ports_named(binder: Binder, node: ast.SyntaxExpression) -> frozenset[int]:
    """The sources that the text speaks of, though it may settle before it is asked of a row."""
    names = (part for part in ast.walk(node) if isinstance(part, ast.Name))
    meant = (found for name in names if (found := binder.bind(name)) is not None)
    return frozenset().union(*map(ports_of, meant))


def _related(
    statement: Statement, plain: Scope, conjuncts: Iterable[Conjunct]
) -> frozenset[frozenset[int]]:
    """Pairs of sources of which a comparison names times."""
    binder = _quiet(statement).binder("WHERE", plain)
    found = set()
    for conjunct in conjuncts:
        if isinstance(conjunct.node, ast.Comparison) and len(conjunct.ports) == 2:
            sides = [binder.bind(side) for side in (conjunct.node.left, conjunct.node.right)]
            if any(side is not None and side.temporal.is_temporal for side in sides):
                found.add(conjunct.ports)
    return frozenset(found)


def _quiet(statement: Statement) -> Statement:
    """What has been said of a query's mistakes is not said twice."""
    return replace(statement, context=replace(statement.context, sink=DiagnosticSink()))


def _with_variables(statement: Statement, scope: Scope) -> Scope:
    """WHERE may speak of group variables by their names."""
    named = replace(_quiet(statement), columns=scope)
    return replace(scope, variables=bind_groups(named, None).expressions())


# Conditions where they belong


@dataclass(frozen=True, slots=True)
class _Binding:
    """Makes the rows of a tree, those of its inner joins first."""

    statement: Statement
    windows: dict[int, InputWindow]

    def rows(self, tree: Tree) -> Rows:
        if isinstance(tree, Branch):
            return self._joined(tree)
        item = self.statement.items[tree.port]
        where = self._all(tree.where, lambda reads: at_home(reads[0]))
        if not item.is_packets:
            refuse_low_only([where], self.statement.sink)
        return SourceRows(item, where)

    def _joined(self, branch: Branch) -> JoinedRows:
        left, right = map(self.rows, branch.sides)
        rows = JoinedRows(left, right, branch.keeps, branch.is_standard, branch.span)
        predicate = Predicate()
        for conjunct in branch.predicate:
            predicate.add(self._compared(conjunct, rows))
        errors = self.statement.sink.error_count
        relate_windows(predicate, rows, self.windows, self.statement.sink)
        if self.statement.sink.error_count > errors:
            return rows
        if refuse_wide_bands(branch, predicate, self.statement.sink):
            return rows
        if refuse_unbounded(self.statement, branch, predicate):
            return rows
        refuse_empty_bands(predicate, self.statement.sink)
        rows.times, rows.keys = predicate.times, tuple(predicate.keys)
        rows.residual, rows.equated = predicate.rest(), predicate.equated
        rows.filters = self._all(branch.filters, rows.joined)
        sides = (side for pair in (*rows.keys, *(t.sides for t in rows.times)) for side in pair)
        refuse_low_only([*rows.residual, *sides, rows.filters], self.statement.sink)
        return rows

    def _compared(self, conjunct: Conjunct, rows: JoinedRows) -> Compared:
        node = conjunct.node
        binder = self._binder(conjunct, rows.operand)
        condition = binder.condition(node)
        assert condition is not None
        if not isinstance(node, ast.Comparison):
            return Compared(condition)
        is_plain = isinstance(node.left, ast.Name) and isinstance(node.right, ast.Name)
        left, right = binder.bind(node.left), binder.bind(node.right)
        return Compared(condition, node.op, left, right, is_plain)

    def _all(self, conjuncts: Sequence[Conjunct], seen: Seen) -> Expression | None:
        """The condition that all of these are."""
        bound: list[Expression | None] = []
        for conjunct in conjuncts:
            condition = self._binder(conjunct, seen).condition(conjunct.node)
            refuse_void_test(conjunct.node, condition, self.statement)
            bound.append(condition)
        if not bound:
            return None
        span = conjuncts[0].node.span
        return operations.conjunction("AND", bound, span, DiagnosticSink())

    def _binder(self, conjunct: Conjunct, seen: Seen) -> Binder:
        quiet = _quiet(self.statement)
        scope = replace(quiet.columns, seen=seen)
        if _names_variables(quiet, conjunct.node):
            scope = _with_variables(quiet, scope)
        return quiet.binder("WHERE", scope)


def _names_variables(statement: Statement, node: ast.SyntaxExpression) -> bool:
    """Group variables that are not named are not looked up: what they read would be carried."""
    names = {item.alias.lower() for item in group_items(statement.body.group_by) if item.alias}
    parts = (part for part in ast.walk(node) if isinstance(part, ast.Name))
    return any(not part.qualifier and part.name.lower() in names for part in parts)
