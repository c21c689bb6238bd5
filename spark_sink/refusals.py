# SPDX-License-Identifier: Apache-2.0
"""What Spark cannot run of a plan, said with position and reason before a job starts."""

from __future__ import annotations

from collections.abc import Iterator

from gigastream.gsql.diagnostics import Diagnostic, GsqlError
from gigastream.gsql.expressions import Expression
from gigastream.gsql.source import NOWHERE, Span
from gigastream.plan.base_time import Alternatives, BaseTimes, base_times
from gigastream.plan.nodes import Node
from gigastream.plan.operators.aggregate import Aggregate
from gigastream.plan.operators.limit import Limit
from gigastream.plan.operators.low_node import LowNode
from gigastream.plan.operators.order_limit import OrderLimit
from gigastream.plan.operators.output import Output
from gigastream.plan.operators.select import Select
from gigastream.plan.operators.union import Union
from gigastream.plan.plan import Plan
from spark_sink.event_time import has_event_time
from spark_sink.expressions import refusal

_KNOWN = (LowNode, Select, Aggregate, Union, OrderLimit, Output)
_HINT = "--on here runs it"


def check(plan: Plan) -> None:
    """Raise GsqlError with everything of a plan that Spark cannot run."""
    found = list(dict.fromkeys(refusals(plan)))
    if found:
        raise GsqlError(found)


def refusals(plan: Plan) -> Iterator[Diagnostic]:
    """All that cannot run, as errors for a person."""
    times = base_times(plan)
    for node in plan.nodes:
        if isinstance(node, Limit):
            message = f"LIMIT of {node.name} cannot run on Spark: no stream ends there by itself"
            yield _refused(message, node.span)
        elif not isinstance(node, _KNOWN):
            yield _refused(f"{type(node).__name__} of {node.name} cannot run on Spark yet", NOWHERE)
        for expression in _expressions(node):
            yield from _of_expression(expression)
        if isinstance(node, Aggregate):
            yield from _of_groups(node, node.group_times(times[node.input.name]))


def _of_expression(expression: Expression) -> Iterator[Diagnostic]:
    found = refusal(expression)
    if found is not None:
        span, reason = found
        yield _refused(f"this cannot run on Spark: {reason}", span)


def _of_groups(node: Aggregate, times: BaseTimes) -> Iterator[Diagnostic]:
    for index in node.temporal_groups:
        if not has_event_time(times[index]):
            group = node.groups[index]
            reason = _why_no_event_time(times[index])
            yield _refused(f"Spark cannot tell when {group.name} is over: {reason}", _span(group))


def _why_no_event_time(alternatives: Alternatives) -> str:
    if not alternatives:
        return "it is no function of the packet's time"
    text = alternatives[0].forward_text
    return f"{text} has no inverse that can be written down"


def _span(group: object) -> Span:
    span: Span = group.expression.span  # type: ignore[attr-defined]
    return span


def _expressions(node: Node) -> Iterator[Expression]:
    """What is evaluated above the border."""
    if isinstance(node, Select | Aggregate):
        yield from node.predicates
        yield from (output.expression for output in node.outputs)
    if not isinstance(node, Aggregate):
        return
    yield from () if node.having is None else (node.having,)
    yield from (group.expression for group in node.groups)
    for accumulator in () if node.merges_partials else node.accumulators:
        yield from accumulator.expressions


def _refused(message: str, span: Span) -> Diagnostic:
    return Diagnostic("error", "not-on-spark", message, span, _HINT)
