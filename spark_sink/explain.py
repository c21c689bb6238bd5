# SPDX-License-Identifier: Apache-2.0
"""What becomes of a plan on Spark, for people: streams, watermark, each node's operation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from gigastream.gsql.types import Temporal
from gigastream.plan.base_time import Alternatives, BaseTimes, base_times
from gigastream.plan.describe.aggregates import accumulator_text
from gigastream.plan.nodes import Node, topological
from gigastream.plan.operators.aggregate import Aggregate
from gigastream.plan.operators.low_node import LowNode
from gigastream.plan.operators.order_limit import OrderLimit
from gigastream.plan.operators.output import Output
from gigastream.plan.operators.select import Select
from gigastream.plan.operators.union import Union
from gigastream.plan.plan import Plan
from gigastream.plan.text import expression_text
from spark_sink.dataframes import columns_read

Times = Mapping[str, BaseTimes]
INDENT = "    "


def explain(plan: Plan) -> str:
    """The mapping of every output. Raises GsqlError where Spark cannot run it."""
    from spark_sink.refusals import check

    check(plan)
    times = base_times(plan)
    blocks = [_output(plan, output, times) for output in plan.outputs]
    return "\n\n".join("\n".join(block) for block in blocks)


def _output(plan: Plan, output: Output, times: Times) -> Iterator[str]:
    yield f"query {output.name} on Spark"
    nodes = [node for node in topological((output,)) if not isinstance(node, Output)]
    streams = ", ".join(node.name for node in nodes if isinstance(node, LowNode))
    yield f"{INDENT}watermark  on _hb alone, 0 seconds late: the least punctuation, in base time"
    yield f"{INDENT}           (the packet's timestamp), over all interfaces of {streams}"
    for node in nodes:
        yield f"{INDENT}{node.name}"
        for label, text in _LINES[_kind(node)](plan, node, times):
            yield f"{INDENT}{INDENT}{label:<12}{text}".rstrip()


def _kind(node: Node) -> type[Node]:
    return LowNode if isinstance(node, LowNode) else type(node)


Lines = Iterator[tuple[str, str]]


def _low(plan: Plan, node: LowNode, times: Times) -> Lines:
    names = [node.schema.columns[index].name for index in columns_read(plan, node)]
    yield "readStream", f"format gigastream, stream {node.name}, columns {', '.join(names)}"


def _select(plan: Plan, node: Select, times: Times) -> Lines:
    for predicate in node.predicates:
        yield "where", expression_text(predicate)
    yield "select", _outputs(node)


def _outputs(node: Select | Aggregate) -> str:
    return ", ".join(f"{expression_text(o.expression)} AS {o.name}" for o in node.outputs)


def _union(plan: Plan, node: Union, times: Times) -> Lines:
    yield "unionAll", ", ".join(part.name for part in node.parts)


def _aggregate(plan: Plan, node: Aggregate, times: Times) -> Lines:
    for predicate in node.predicates:
        yield "where", expression_text(predicate)
    yield "groupBy", ", ".join(group.name for group in node.groups) or "nothing"
    groups = node.group_times(times[node.input.name])
    for index in node.temporal_groups:
        yield "event time", _end(node.groups[index].name, groups[index])
    if not node.temporal_groups:
        yield "event time", "the end of the stream"
    for index, accumulator in enumerate(node.accumulators):
        what = f"partial {accumulator.kind}{index}" if node.merges_partials else "rows"
        yield "agg", f"{accumulator_text(accumulator)} of {what}"
    if node.having is not None:
        yield "having", expression_text(node.having)
    yield "select", _outputs(node)


def _end(name: str, alternatives: Alternatives) -> str:
    texts = [function.inverse_text.removeprefix("v -> ") for function in alternatives]
    shown = [text or "the inverse of " + f.forward_text for text, f in _pairs(texts, alternatives)]
    sign = "-" if alternatives[0].temporal is Temporal.DECREASING else ""
    joined = shown[0] if len(shown) == 1 else f"the latest of {', '.join(shown)}"
    return f"{name}: a value w is over at base time {joined}, with v = {sign}w + 1"


def _pairs(texts: list[str], alternatives: Alternatives) -> Iterator[tuple[str, Any]]:
    return zip(texts, alternatives, strict=True)


def _order(plan: Plan, node: OrderLimit, times: Times) -> Lines:
    columns = node.input.schema.columns
    windows = ", ".join(columns[index].name for index in node.windows)
    yield "groupBy", windows or "nothing: the stream is one window"
    keys = (columns[index].name + (" DESC" if down else "") for index, down in node.keys)
    yield "sort_array", f"of the window's rows by {', '.join((*keys, 'all columns'))}"
    if node.limit is not None:
        yield "slice", f"the first {node.limit:,}"


_LINES: dict[type[Node], Callable[[Plan, Any, Times], Lines]] = {
    LowNode: _low,
    Select: _select,
    Union: _union,
    Aggregate: _aggregate,
    OrderLimit: _order,
}
