# SPDX-License-Identifier: Apache-2.0
"""What can be said of joins and merges before there are any: their predicates and schemas."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gigastream.gsql.binder.context import BindingContext, Feature, not_supported
from gigastream.gsql.binder.names import Scope, SourceNames
from gigastream.gsql.binder.sources import SourceItem
from gigastream.gsql.diagnostics import DiagnosticSink
from gigastream.gsql.expressions import ColumnRef, Expression, Operation, ports_of
from gigastream.gsql.source import NOWHERE, Span
from gigastream.gsql.syntax import ast


def flat_sources(items: Sequence[ast.FromItem]) -> Iterator[ast.FromItem]:
    """The tables and unions of a FROM list, those of its JOINs too."""
    for item in items:
        if isinstance(item, ast.JoinedSource):
            yield from flat_sources((item.left, item.right))
        else:
            yield item


def join_conditions(items: Sequence[ast.FromItem]) -> Iterator[ast.SyntaxExpression]:
    """The conditions behind ON."""
    for item in items:
        if isinstance(item, ast.JoinedSource):
            yield from join_conditions((item.left, item.right))
            if item.condition is not None:
                yield item.condition


def is_join(body: ast.SelectStatement) -> bool:
    """True if a SELECT reads several sources at once."""
    several = len(body.sources) > 1 or body.join is not None
    return several or any(isinstance(item, ast.JoinedSource) for item in body.sources)


def equated_names(conditions: Sequence[ast.SyntaxExpression]) -> frozenset[str]:
    """Columns that `a.x = b.x` equates: their name alone is clear then."""
    found: set[str] = set()
    for condition in conditions:
        for node in ast.walk(condition):
            if isinstance(node, ast.Comparison) and node.op == "=":
                left, right = node.left, node.right
                if isinstance(left, ast.Name) and isinstance(right, ast.Name):
                    same = left.name.lower() == right.name.lower()
                    found |= {left.name.lower()} if same else set()
    return frozenset(found)


def check_join(
    body: ast.SelectStatement,
    items: Sequence[SourceItem],
    conditions: Sequence[Expression | None],
    sink: DiagnosticSink,
) -> Iterator[Feature]:
    """Report a join that could forget nothing; yield one that could."""
    span = _join_span(body)
    known = all(item.build is not None for item in items) and None not in conditions
    good = [condition for condition in conditions if condition is not None]
    is_filter = body.join is not None and body.join.kind == "FILTER"
    windowed = is_filter or all(item.node.window is not None for item in items)
    if known and not windowed and not _relates_times(good):
        names = [item.names.shown for item in items]
        message = f"no condition relates the times of {' and '.join(names)}"
        a, b = (_time_of(item.names) for item in (items[0], items[-1]))
        hint = f"{a} = {b}, or a band: {a} >= {b} - 2 AND {a} <= {b} + 3"
        sink.error("no-temporal-predicate", message, span, hint)
    yield "a join", span


def _time_of(names: SourceNames) -> str:
    """A temporal column of a source, for a hint."""
    columns = names.everything(NOWHERE)
    times = [name for name, column in columns if column.temporal.is_temporal]
    return f"{names.shown}.{times[0] if times else 'ts'}"


def _join_span(body: ast.SelectStatement) -> Span:
    if body.join is not None:
        return body.join.span
    return body.sources[-1].span


def _relates_times(conditions: Sequence[Expression]) -> bool:
    """True for an equality of temporal expressions of two sides, or for both arms of a band."""
    arms: set[tuple[int, int]] = set()
    for operation in _conjuncts(conditions):
        sides = _sides(operation)
        if sides is None:
            continue
        if operation.operator == "=":
            return True
        if operation.operator in (">", ">="):
            sides = sides[::-1]
        arms.add(sides)
    return any((b, a) in arms for a, b in arms)


def _conjuncts(conditions: Sequence[Expression]) -> Iterator[Operation]:
    for condition in conditions:
        if isinstance(condition, Operation):
            if condition.operator == "AND":
                yield from _conjuncts(condition.operands)
            else:
                yield condition


def _sides(operation: Operation) -> tuple[int, int] | None:
    """The sources of the lesser and the greater side, where both are temporal."""
    if operation.operator not in ("=", "<", "<=", ">", ">="):
        return None
    left, right = operation.operands
    if not (left.temporal.is_temporal and right.temporal.is_temporal):
        return None
    ports = ports_of(left), ports_of(right)
    if any(len(found) != 1 for found in ports) or ports[0] == ports[1]:
        return None
    return next(iter(ports[0])), next(iter(ports[1]))


# FILTER_JOIN and MERGE


def check_filter_join(clause: ast.JoinClause, scope: Scope, context: BindingContext) -> None:
    """Report the column of a FILTER_JOIN that is no time."""
    if clause.column is None:
        return
    first = Scope(scope.sources[:1]) if not clause.column.qualifier else scope
    column = first.resolve(clause.column, context.sink)
    if column is not None and not column.temporal.is_temporal:
        message = f"{clause.column.name} is not temporal, so a packet would be kept for ever"
        hint = "FILTER_JOIN(time, 5)"
        context.sink.error("not-temporal", message, clause.column.span, hint)


def check_merge(body: ast.Merge, items: Sequence[SourceItem], sink: DiagnosticSink) -> None:
    """Report a MERGE of different schemas, or on columns that are not temporal."""
    errors = sink.error_count
    known = all(item.build is not None for item in items)
    if known and len(body.columns) != len(items):
        message = f"{len(items)} sources are merged on {len(body.columns)} columns"
        hint = "one column of each source: MERGE a.t : b.t FROM A a, B b"
        sink.error("wrong-merge", message, body.columns[-1].span, hint)
    scope = Scope(tuple(item.names for item in items))
    columns = [_merged(column, scope, sink) for column in body.columns]
    if known and None not in columns:
        _check_places([c for c in columns if c is not None], items, body, sink)
    if known:
        _check_schemas(items, sink)
    if known and sink.error_count == errors:
        not_supported(sink, "MERGE", body.span)


def _merged(column: ast.Name, scope: Scope, sink: DiagnosticSink) -> Expression | None:
    found = scope.resolve(column, sink)
    if found is None or found.temporal.is_temporal:
        return found
    message = f"{column.name} is not temporal: it has no order to merge by"
    sink.error("not-temporal", message, column.span, "merge on an increasing column, such as time")
    return None


def _check_places(
    columns: Sequence[Expression],
    items: Sequence[SourceItem],
    body: ast.Merge,
    sink: DiagnosticSink,
) -> None:
    first = columns[0]
    for node, column in zip(body.columns[1:], columns[1:], strict=True):
        if column.temporal is not first.temporal:
            message = f"{node.name} is {column.temporal.value}, the first {first.temporal.value}"
            sink.error("wrong-merge", message, node.span)
        elif _place(column) != _place(first):
            message = f"{node.name} stands in another place of its source than the first"
            sink.error("wrong-merge", message, node.span, "the sources have the same schema")


def _place(column: Expression) -> object:
    return column.index if isinstance(column, ColumnRef) else getattr(column, "field", None)


def _check_schemas(items: Sequence[SourceItem], sink: DiagnosticSink) -> None:
    first = _types(items[0].names)
    for item in items[1:]:
        if _types(item.names) != first:
            message = f"{item.names.shown} has other columns than {items[0].names.shown}"
            hint = "the sources of a MERGE have columns of the same types in the same places"
            sink.error("different-schemas", message, item.node.span, hint)


def _types(names: SourceNames) -> list[object]:
    return [expression.type for _, expression in names.everything(NOWHERE)]
