# SPDX-License-Identifier: Apache-2.0
"""The form of an aggregation above the border: which windows its groups are of."""

from __future__ import annotations

from gigastream.gsql.diagnostics import Diagnostic, GsqlError
from gigastream.gsql.queries import ROWS, CheckedQuery
from gigastream.late_dataclass import fields
from gigastream.plan.operators.aggregate import Aggregate
from gigastream.plan.operators.running_aggregate import going_on
from gigastream.plan.operators.slide import Slide
from gigastream.plan.operators.slide_rows import SlideRows


def in_its_form(query: CheckedQuery, top: Aggregate) -> Aggregate:
    """The aggregation of a query: of groups that go on, over panes, or of a window each."""
    if query.closing_when is not None:
        _refuse_rows(query, "not-going-on", "a window's values, and cannot be in groups that go on")
        return going_on(top, query.closing_when, query.options.max_silence)
    return _over_windows(query, top)


def _over_windows(query: CheckedQuery, top: Aggregate) -> Aggregate:
    """Of windows that have panes: of these, or of rows where groups keep values."""
    window = query.window
    if window is None or not window.has_panes:
        return top
    _refuse_rows(query, "not-of-panes", "every value, and cannot be over windows that overlap")
    own = {item.name: getattr(top, item.name) for item in fields(top)}
    form = SlideRows if any(a.keeps_values for a in top.accumulators) else Slide
    return form(**own, range=window.range // window.pane, slide=window.slide // window.pane)


def _refuse_rows(query: CheckedQuery, code: str, kept: str) -> None:
    """GsqlError for functions in Python, which are given the rows of a window that ends."""
    hint = "a query of its own over windows that tumble has it for each of them"
    errors = [
        Diagnostic("error", code, f"{call.called} keeps {kept}", call.span, hint)
        for call in query.aggregates
        if call.function == ROWS
    ]
    if errors:
        raise GsqlError(errors)
