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
from spark_sink.operators.merge import merge_seen_in
from spark_sink.operators.refusal import refused
from spark_sink.window_complete.due import Due


def check(
    plan: Plan, *, streaming: bool = True, output: Output | None = None, on_driver: bool = False
) -> None:
    """Raise GsqlError with everything of a plan, or of one output, that Spark cannot run.

    A batch has an end, so that nothing of it need be told when it is over. `on_driver`: a stream's
    rows come to the driver, in whole windows where a query asks for that.
    """
    found = list(refusals(plan, streaming=streaming, output=output))
    if streaming:
        outputs = plan.outputs if output is None else (output,)
        found += [each for o in outputs for each in _of_order(plan, o, on_driver=on_driver)]
    if found:
        raise GsqlError(list(dict.fromkeys(found)))


def refusals(plan: Plan, *, streaming: bool, output: Output | None) -> Iterator[Diagnostic]:
    """All that operators cannot do, as errors for a person."""
    times = column_times(plan)
    for node in plan.nodes if output is None else topological((output,)):
        operator = operator_of(node)
        for expression in operator.expressions(node):
            yield from _of_expression(expression)
        yield from operator.refusals(node)
        if streaming:
            yield from operator.stream_refusals(node, times)


def _of_order(plan: Plan, output: Output, *, on_driver: bool) -> Iterator[Diagnostic]:
    merge = merge_seen_in(output)
    if merge is not None and not (on_driver and Due(plan, output).waits):
        yield refused(
            f"{output.name} is in the order of a MERGE, which a stream that Spark writes does not "
            "keep; a query that groups or joins its rows runs",
            merge.span,
        )


def _of_expression(expression: Expression) -> Iterator[Diagnostic]:
    found = refusal(expression)
    if found is not None:
        span, reason = found
        yield refused(f"this cannot run on Spark: {reason}", span)
