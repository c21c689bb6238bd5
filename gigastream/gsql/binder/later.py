# SPDX-License-Identifier: Apache-2.0
"""Clauses of GSQL that are checked as far as they go, and then said to be not supported yet.

What can be wrong with them (GSQL section 7) is wrong today too, so that a query that gets only
`not supported yet` is one that will run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gigastream.gsql.binder.context import BindingContext, Feature
from gigastream.gsql.binder.groups import Groups
from gigastream.gsql.binder.joins import is_join
from gigastream.gsql.binder.names import Scope
from gigastream.gsql.binder.sources import SourceItem
from gigastream.gsql.diagnostics import DiagnosticSink, did_you_mean
from gigastream.gsql.syntax import ast


def check_windows(
    body: ast.SelectStatement, items: Sequence[SourceItem], context: BindingContext
) -> Iterator[Feature]:
    """Report windows of a join on an attribute that is no time; yield the others."""
    scope = Scope(tuple(item.names for item in items))
    owned = [(item.node.window, Scope((item.names,))) for item in items]
    for window, names in [(body.window if is_join(body) else None, scope), *owned]:
        if window is not None and _has_good_attribute(window, names, context.sink):
            yield "a window", window.span


def _has_good_attribute(window: ast.Window, names: Scope, sink: DiagnosticSink) -> bool:
    if window.attribute is None:
        return True
    found = names.resolve(window.attribute, sink)
    if found is None or found.temporal.is_temporal:
        return found is not None
    message = f"{window.attribute.name} is not temporal, so no window over it would ever close"
    sink.error("not-temporal", message, window.attribute.span, "WA time")
    return False


def check_later_clauses(
    body: ast.SelectStatement, groups: Groups, context: BindingContext
) -> Iterator[Feature]:
    """Report what is wrong with the sampling forms of SELECT; yield the clauses."""
    yield from _check_supergroup(body, groups, context.sink)
    yield from _check_cleaning(body, context.sink)


def _check_supergroup(
    body: ast.SelectStatement, groups: Groups, sink: DiagnosticSink
) -> Iterator[Feature]:
    known = groups.references()
    for name in body.supergroup:
        if name.name.lower() in known:
            continue
        hint = did_you_mean(name.name, known) or f"group variables are {', '.join(known)}"
        message = f"{name.name} is no group variable"
        sink.error("unknown-column", message, name.span, hint)
    if body.supergroup:
        yield "SUPERGROUP", body.supergroup[0].span


def _check_cleaning(body: ast.SelectStatement, sink: DiagnosticSink) -> Iterator[Feature]:
    when, by = body.cleaning_when, body.cleaning_by
    if when is not None and by is None:
        hint = "CLEANING_BY says which groups stay"
        sink.error("half-cleaning", "CLEANING_WHEN without CLEANING_BY", when.span, hint)
    elif by is not None and when is None:
        hint = "CLEANING_WHEN says when to clean"
        sink.error("half-cleaning", "CLEANING_BY without CLEANING_WHEN", by.span, hint)
    elif when is not None and not body.supergroup:
        yield "CLEANING_WHEN", when.span
