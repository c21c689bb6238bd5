# SPDX-License-Identifier: Apache-2.0
"""CLOSING_WHEN (GSQL section 6.4): groups that outlive their window, until a condition holds."""

from __future__ import annotations

from collections.abc import Iterator

from gigastream.gsql.binder.aggregates import RUNNING
from gigastream.gsql.binder.groups import Groups
from gigastream.gsql.binder.statement import Statement
from gigastream.gsql.binder.windows import BoundWindow
from gigastream.gsql.catalog.catalog import Extractor, UserAggregate
from gigastream.gsql.source import Span
from gigastream.gsql.syntax import ast

_KEPT = (*RUNNING, "FIRST", "LAST")
"""Aggregates that make sense in a group that outlives its window."""


def check_closing(statement: Statement, groups: Groups, window: BoundWindow | None) -> None:
    """Report running aggregates that nothing ends, and a CLOSING_WHEN that ends nothing."""
    calls = list(_running_calls(statement))
    closing = statement.body.closing_when
    if closing is None:
        for call in calls:
            _report_endless(statement, call)
    elif statement.body.distinct:
        hint = "write GROUP BY with the columns"
        message = "SELECT DISTINCT has no CLOSING_WHEN"
        statement.sink.error("misplaced-clause", message, closing.span, hint)
    elif not calls:
        hint = "moving_sum(x, n), running_sum(x), first(x) and their like run"
        message = "CLOSING_WHEN without a running aggregate"
        statement.sink.error("closing-when", message, closing.span, hint)
    else:
        _check_windows(statement, groups, window, closing.span)


def _report_endless(statement: Statement, call: ast.Call) -> None:
    if call.name.upper() in ("FIRST", "LAST"):
        return
    message = f"{call.name} goes on from window to window, and nothing says when it ends"
    hint = "add CLOSING_WHEN, the condition on which a group is dropped"
    statement.sink.error("running-aggregate", message, call.span, hint)


def _check_windows(
    statement: Statement, groups: Groups, window: BoundWindow | None, span: Span
) -> None:
    """A group goes on from one window into the next: they must follow on each other."""
    times = [v.name for v in groups.variables if v.expression.temporal.is_temporal]
    if window is not None and window.window.has_panes:
        hint = "moving_sum(x, n) is over windows that overlap: leave SLIDE out"
        message = "CLOSING_WHEN needs windows that follow on each other, and these overlap"
    elif groups.are_known and len(times) > 1:
        hint = "keep one of them, and non_temporal(x) of the others"
        message = f"CLOSING_WHEN needs one temporal group variable, not {', '.join(times)}"
    elif statement.options.no_temporal_aggr:
        hint = "leave no_temporal_aggr out"
        message = "CLOSING_WHEN needs windows: with no_temporal_aggr no window ends before the end"
    elif statement.options.lfta_aggregation:
        hint = "leave lfta_aggregation out"
        message = "CLOSING_WHEN needs whole groups: with lfta_aggregation they leave in parts"
    else:
        return
    statement.sink.error("closing-when", message, span, hint)


def _running_calls(statement: Statement) -> Iterator[ast.Call]:
    """The calls of aggregates that may outlive a window."""
    body = statement.body
    clauses = [*(item.expression for item in body.items), body.having, body.closing_when]
    clauses += [item.expression for item in body.order_by]
    for clause in clauses:
        for node in ast.walk(clause) if clause is not None else ():
            if isinstance(node, ast.Call) and _is_running(node, statement):
                yield node


def _is_running(call: ast.Call, statement: Statement) -> bool:
    if call.name.upper() in _KEPT:
        return True
    declared = statement.context.catalog.aggregated(call.name)
    read = [each.aggregate if isinstance(each, Extractor) else each for each in declared]
    return any(isinstance(each, UserAggregate) and each.is_running for each in read)
