# SPDX-License-Identifier: Apache-2.0
"""What Spark cannot run of a plan, said with position and reason before a job starts."""

from __future__ import annotations

from collections.abc import Iterator

from gigastream.gsql.diagnostics import Diagnostic, GsqlError
from gigastream.gsql.expressions import Expression
from gigastream.plan.nodes import topological
from gigastream.plan.operators.output import Output
from gigastream.plan.plan import Plan
from spark_sink.expressions import refusal
from spark_sink.operators import column_times, operator_of
from spark_sink.operators.refusal import refused


def check(plan: Plan, *, streaming: bool = True, output: Output | None = None) -> None:
    """Raise GsqlError with everything of a plan, or of one output, that Spark cannot run.

    A batch has an end, so that nothing of it need be told when it is over.
    """
    found = list(dict.fromkeys(refusals(plan, streaming=streaming, output=output)))
    if found:
        raise GsqlError(found)


def refusals(plan: Plan, *, streaming: bool, output: Output | None) -> Iterator[Diagnostic]:
    """All that cannot run, as errors for a person."""
    times = column_times(plan)
    for node in plan.nodes if output is None else topological((output,)):
        operator = operator_of(node)
        for expression in operator.expressions(node):
            yield from _of_expression(expression)
        yield from operator.refusals(node)
        if streaming:
            yield from operator.stream_refusals(node, times)


def _of_expression(expression: Expression) -> Iterator[Diagnostic]:
    found = refusal(expression)
    if found is not None:
        span, reason = found
        yield refused(f"this cannot run on Spark: {reason}", span)
