# SPDX-License-Identifier: Apache-2.0
"""What would be held for ever: groups, and rows in order, whose time comes to stand.

UMIN(time, 100) is temporal, and never goes on; whether it is written in GROUP BY or is a column of
the query that is read, the groups of its last value are never complete.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gigastream.gsql.diagnostics import Diagnostic, DiagnosticSink
from gigastream.gsql.queries import CheckedQuery
from gigastream.plan.base_time import BaseTimes
from gigastream.plan.nodes import Awaited
from gigastream.plan.plan import Plan
from gigastream.plan.rates import moves

_AT_THE_END = "what it holds comes when all input has been read"
_FOR_EVER = "what it holds would be held for ever"
_HINT = "put what goes on, as time/60 does, in its place"
_HINT_OF_GROUPS = (
    f"{_HINT} or beside it; DEFINE {{ no_temporal_aggr true; }} is for one answer at the end"
)


def check_standing(
    plan: Plan, queries: Sequence[CheckedQuery], times: Mapping[str, BaseTimes], *, is_finite: bool
) -> tuple[Diagnostic, ...]:
    """GsqlError for what waits for times of which none goes on.

    Where all input has an end it is answered there, as warnings say.
    """
    exempt = _answered_once(plan, queries)
    sink = DiagnosticSink()
    for node in plan.nodes:
        awaited = node.awaited([times[child.name] for child in node.inputs])
        if awaited and id(node) not in exempt and not any(moves(each.times) for each in awaited):
            sink.add(_standing(awaited, is_finite=is_finite))
    sink.raise_if_errors()
    return sink.diagnostics


def _answered_once(plan: Plan, queries: Sequence[CheckedQuery]) -> set[int]:
    """The nodes of the queries that ask for one answer at the end."""
    names = {query.name for query in queries if query.options.no_temporal_aggr}
    tops = [node for node in plan.nodes if node.name in names and not node.is_output]
    return {id(own) for top in tops for own in plan.own_nodes(top)}


def _standing(awaited: Sequence[Awaited], *, is_finite: bool) -> Diagnostic:
    names = list(dict.fromkeys(each.name for each in awaited))
    verb = "stands" if len(names) == 1 else "stand"
    message = f"{' and '.join(names)} {verb} still as time goes on: "
    span = awaited[0].span
    if is_finite:
        return Diagnostic("warning", "answered-once", message + _AT_THE_END, span)
    hint = _HINT_OF_GROUPS if awaited[0].is_group else _HINT
    return Diagnostic("error", "standing-time", message + _FOR_EVER, span, hint)
