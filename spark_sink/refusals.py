# SPDX-License-Identifier: Apache-2.0
"""What Spark cannot run of a plan, said with position and reason before a job starts."""

from __future__ import annotations

from collections.abc import Iterator

from gigastream.gsql.diagnostics import Diagnostic, GsqlError
from gigastream.gsql.expressions import Expression
from gigastream.plan.base_time import base_times
from gigastream.plan.plan import Plan
from spark_sink.expressions import refusal
from spark_sink.operators import operator_of
from spark_sink.operators.refusal import refused


def check(plan: Plan) -> None:
    """Raise GsqlError with everything of a plan that Spark cannot run."""
    found = list(dict.fromkeys(refusals(plan)))
    if found:
        raise GsqlError(found)


def refusals(plan: Plan) -> Iterator[Diagnostic]:
    """All that cannot run, as errors for a person."""
    times = base_times(plan)
    for node in plan.nodes:
        operator = operator_of(node)
        for expression in operator.expressions(node):
            yield from _of_expression(expression)
        yield from operator.refusals(node, times)


def _of_expression(expression: Expression) -> Iterator[Diagnostic]:
    found = refusal(expression)
    if found is not None:
        span, reason = found
        yield refused(f"this cannot run on Spark: {reason}", span)
