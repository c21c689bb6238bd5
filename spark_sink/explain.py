# SPDX-License-Identifier: Apache-2.0
"""What becomes of a plan on Spark, for people: streams, watermark, each node's operation."""

from __future__ import annotations

from collections.abc import Iterator

from gigastream.plan.nodes import topological
from gigastream.plan.operators.output import Output
from gigastream.plan.plan import Plan
from spark_sink.operators import column_times, operator_of
from spark_sink.operators.operator import Times
from spark_sink.refusals import check
from spark_sink.window_complete.due import can_answer

INDENT = "    "


def explain(plan: Plan) -> str:
    """The mapping of every output. Raises GsqlError where Spark cannot run it."""
    check(plan, on_driver=True)
    times = column_times(plan)
    blocks = [_output(plan, output, times) for output in plan.outputs]
    return "\n\n".join("\n".join(block) for block in blocks)


def _output(plan: Plan, output: Output, times: Times) -> Iterator[str]:
    yield f"query {output.name} on Spark"
    nodes = [node for node in topological((output,)) if not node.is_output]
    streams = ", ".join(node.name for node in nodes if node.is_low)
    yield f"{INDENT}watermark  on heartbeats, 0 seconds late: the least punctuation, in base time"
    yield f"{INDENT}           (the packet's timestamp), over all interfaces of {streams}"
    yield from _state(plan, output)
    for node in nodes:
        yield f"{INDENT}{node.name}"
        for label, text in operator_of(node).lines(plan, node, times):
            yield f"{INDENT}{INDENT}{label:<12}{text}".rstrip()


def _state(plan: Plan, output: Output) -> Iterator[str]:
    """Which way its rows go to the driver (spark_sink/driver_query.py), and why."""
    if can_answer(plan, output):
        yield f"{INDENT}state      none: a micro-batch is the windows that a punctuation ends,"
        yield f"{INDENT}           in the spool, where the driver writes (run --on spark, tables,"
        yield f"{INDENT}           printed outputs); where Spark writes they wait in its store"
    elif any(operator_of(node).waits for node in topological((output,))):
        yield f"{INDENT}state      in Spark's store: not all that is held is windows"
    else:
        yield f"{INDENT}state      none: rows leave at once"
