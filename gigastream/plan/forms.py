# SPDX-License-Identifier: Apache-2.0
"""The form of an aggregation above the border: which windows its groups are of."""

from __future__ import annotations

from gigastream.gsql.diagnostics import Diagnostic, GsqlError
from gigastream.gsql.queries import CheckedQuery
from gigastream.gsql.types import Type
from gigastream.plan.operators.aggregate import Aggregate
from gigastream.plan.operators.running_aggregate import going_on
from gigastream.plan.operators.slide import over_windows


def in_its_form(query: CheckedQuery, top: Aggregate) -> Aggregate:
    """The aggregation of a query: of groups that go on, over panes, or of a window each."""
    if query.closing_when is not None:
        _refuse_texts(query)
        return going_on(top, query.closing_when)
    return over_windows(query, top)


def _refuse_texts(query: CheckedQuery) -> None:
    """GsqlError for texts of one window, whose memory leaves with it; those that go on are kept."""
    hint = "first(x) and last(x) keep a text from window to window"
    errors = [
        Diagnostic(
            "error",
            "not-going-on",
            f"{call.function} of a text is not supported yet in groups that go on",
            call.span,
            hint,
        )
        for call in query.aggregates
        if call.function in ("ARG_MIN", "ARG_MAX") and call.type is Type.STRING
    ]
    if errors:
        raise GsqlError(errors)
