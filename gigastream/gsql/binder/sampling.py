# SPDX-License-Identifier: Apache-2.0
"""SUPERGROUP, CLEANING_WHEN and CLEANING_BY (GSQL section 6.5): a query that samples."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gigastream.gsql.binder.groups import Groups
from gigastream.gsql.binder.names import Scope
from gigastream.gsql.binder.statement import Statement
from gigastream.gsql.binder.windows import BoundWindow
from gigastream.gsql.diagnostics import DiagnosticSink, did_you_mean
from gigastream.gsql.expressions import (
    AggregateRef,
    Expression,
    GroupRef,
    SuperaggregateRef,
    SupergroupState,
    is_of_supergroup,
    walk,
)
from gigastream.gsql.queries import Sampling
from gigastream.gsql.source import Span
from gigastream.gsql.syntax import ast


def bind_sampling(statement: Statement, groups: Groups, scope: Scope, rows: Scope) -> Sampling:
    """Bind the clauses of a sampling query, whatever stands in them."""
    body = statement.body
    supergroup = _supergroup(body.supergroup, groups, statement.sink)

    def condition(clause: str, node: ast.SyntaxExpression | None) -> Expression | None:
        if node is None:
            return None
        binder = statement.group_binder(clause, scope, rows, groups)
        return groups.grouped(binder.condition(node), statement.sink)

    when = condition("CLEANING_WHEN", body.cleaning_when)
    by = condition("CLEANING_BY", body.cleaning_by)
    if when is not None and groups.are_known:
        _demand_of_supergroup(when, supergroup, groups, statement.sink)
    span = _span_of(body) or body.span
    return Sampling(supergroup, statement.superaggregates.found, when, by, span)


def _supergroup(names: Sequence[ast.Name], groups: Groups, sink: DiagnosticSink) -> tuple[int, ...]:
    """The variables of a supergroup; those of the window are always among them."""
    known = groups.references()
    found = [i for i, v in enumerate(groups.variables) if v.expression.temporal.is_temporal]
    for name in names:
        meant = known.get(name.name.lower())
        if isinstance(meant, GroupRef):
            found.append(meant.index)
        elif name.name.lower() not in known and groups.are_known:
            there_are = [variable.name for variable in groups.variables]
            hint = did_you_mean(name.name, there_are)
            hint = hint or f"group variables are {', '.join(there_are)}"
            message = f"{name.name} is no group variable"
            sink.error("unknown-column", message, name.span, hint)
    return tuple(sorted(set(found)))


def _demand_of_supergroup(
    when: Expression, supergroup: tuple[int, ...], groups: Groups, sink: DiagnosticSink
) -> None:
    for part in walk(when):
        if isinstance(part, AggregateRef):
            message = f"CLEANING_WHEN is asked of a supergroup, and {part.name} is of one group"
            hint = "sum$(x) and count_distinct$() are of a supergroup"
        elif isinstance(part, GroupRef) and part.index not in supergroup:
            message = f"CLEANING_WHEN is asked of a supergroup, and {part.name} is not of it"
            hint = f"add {part.name} to SUPERGROUP"
        else:
            continue
        sink.error("not-of-supergroup", message, part.span, hint)


def _span_of(body: ast.SelectStatement) -> Span | None:
    """Where a query says that it samples, as far as clauses do."""
    if body.supergroup:
        return body.supergroup[0].span.to(body.supergroup[-1].span)
    clause = body.cleaning_when or body.cleaning_by
    return None if clause is None else clause.span


def samples(sampling: Sampling, body: ast.SelectStatement, read: Iterator[Expression]) -> bool:
    """Whether a query samples: by a clause, or by what it asks of supergroups."""
    asks = bool(sampling.superaggregates) or any(map(is_of_supergroup, read))
    return asks or _span_of(body) is not None


# What a query that samples cannot be


def check_cleaning(body: ast.SelectStatement, sink: DiagnosticSink) -> None:
    """Report one of CLEANING_WHEN and CLEANING_BY without the other, and both without groups."""
    when, by = body.cleaning_when, body.cleaning_by
    if when is not None and by is None:
        hint = "CLEANING_BY says which groups stay"
        sink.error("half-cleaning", "CLEANING_WHEN without CLEANING_BY", when.span, hint)
    elif by is not None and when is None:
        hint = "CLEANING_WHEN says when to clean"
        sink.error("half-cleaning", "CLEANING_BY without CLEANING_WHEN", by.span, hint)
    span = _span_of(body)
    if span is not None and (body.distinct or not body.group_by):
        message = "a query samples groups: it needs GROUP BY"
        sink.error("misplaced-clause", message, span, "GROUP BY time/60 AS tb, packet_id")


def check_sampling(
    statement: Statement, groups: Groups, window: BoundWindow | None, span: Span
) -> None:
    """Report what a query that samples has and cannot have."""
    reason = _why_no_windows(statement, groups, window)
    if reason is not None:
        message, hint = reason
        statement.sink.error("sampling", f"a query that samples {message}", span, hint)


_OVER_JOIN = (
    "is not over a join itself: its WHERE may ask a supergroup about each row",
    "let a query of the set join, and sample its rows",
)


def refuse_in_join(condition: Expression, sink: DiagnosticSink) -> None:
    """Report what asks a supergroup in a join's conditions, of which any may be asked early."""
    for part in walk(condition):
        if isinstance(part, SupergroupState | SuperaggregateRef):
            message, hint = _OVER_JOIN
            sink.error("sampling", f"a query that samples {message}", part.span, hint)
            return


def _why_no_windows(
    statement: Statement, groups: Groups, window: BoundWindow | None
) -> tuple[str, str] | None:
    """A state goes from a window to the next one: they must follow on each other."""
    times = [v.name for v in groups.variables if v.expression.temporal.is_temporal]
    if window is not None and window.window.has_panes:
        return "needs windows that follow on each other, and these overlap", "leave SLIDE out"
    if groups.are_known and len(times) > 1:
        hint = "keep one of them, and non_temporal(x) of the others"
        return f"needs one temporal group variable, not {', '.join(times)}", hint
    if statement.joined is not None:
        return _OVER_JOIN
    if statement.options.no_temporal_aggr:
        return "needs windows: with no_temporal_aggr none ends before the end", "leave it out"
    if statement.options.lfta_aggregation:
        return "needs whole groups: with lfta_aggregation they leave in parts", "leave it out"
    if statement.body.closing_when is not None:
        return "has no CLOSING_WHEN: its groups leave with their window", "leave it out"
    if groups.masks is not None:
        return "has one grouping set: a row would be in several groups", "GROUP BY the variables"
    return None
