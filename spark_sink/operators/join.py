# SPDX-License-Identifier: Apache-2.0
"""Join on Spark: its own join of two streams, under the one watermark.

Which rows match is an exact condition of whole numbers. When a row leaves is another matter: each
side has one column of event time, the base instant from which on nothing can come that the row
matches, and is compared with a column of the other side that is later than all. So Spark, which
looks for such a comparison, takes the watermark itself for the time up to which rows are let go.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from gigastream.gsql.diagnostics import Diagnostic
from gigastream.gsql.expressions import Cast, ColumnRef, Expression, FunctionCall, ports_of, walk
from gigastream.gsql.types import Temporal, Type
from gigastream.plan.describe.joins import condition_text, equality_text, pair_text
from gigastream.plan.operators.join import Join, JoinedColumn
from gigastream.plan.text import expression_text
from spark_sink.event_time import has_event_time
from spark_sink.event_time_text import latest_text, why_no_event_time
from spark_sink.expressions import Value, column
from spark_sink.expressions.functions import is_python
from spark_sink.lateness import Late, join_lags, joined_rows, relation_times
from spark_sink.operators import join_leaving
from spark_sink.operators.join_sides import NAMES, Ways, joined_side, ways_out
from spark_sink.operators.operator import Lines, SparkOperator, Times
from spark_sink.operators.passing import closes_by
from spark_sink.operators.refusal import refused
from spark_sink.operators.rows import is_true, kept

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from gigastream.plan import Plan
    from spark_sink.dataframes import Frames

HOW = {
    (False, False): "inner",
    (True, False): "left_outer",
    (False, True): "right_outer",
    (True, True): "full_outer",
}


class JoinOnSpark(SparkOperator[Join]):
    """Rows of both sides that match, and of a kept side those that match none."""

    waits = True
    leaves_early = True

    def frame(self, frames: Frames, node: Join) -> DataFrame:
        left, right = (joined_side(frames, node, port) for port in (0, 1))
        condition = reduce(lambda a, b: a & b, _conditions(node, left.isStreaming))
        rows = left.join(right, on=condition, how=HOW[node.keeps])
        if not any(node.keeps):
            rows = kept(rows, [_over_sides(e) for e in _of_both(node)], [])
        return join_leaving.leaving(frames, rows).select(*_put_out(node))

    def late(self, node: Join, inputs: Sequence[Late]) -> Late:
        return joined_rows(node, inputs)

    def is_of_windows(self, node: Join, inputs: Sequence[Late]) -> bool:
        return join_lags(node, inputs) is not None

    def begins(self, node: Join, inputs: Sequence[Late], base_ns: int) -> int:
        return join_leaving.begins(node, inputs, base_ns)

    def closes(self, node: Join, inputs: Sequence[Late], after_ns: int, until_ns: int) -> bool:
        ways = ways_out(node, join_leaving.times_of(node, inputs))
        return closes_by([side for way in ways for side in way.sides], after_ns, until_ns)

    def lines(self, plan: Plan, node: Join, times: Times) -> Lines:
        yield "inputs", f"S0 is {node.left.name}, S1 is {node.right.name}"
        how = HOW[node.keeps].replace("_", " ")
        texts = (*map(pair_text, node.pairs), *map(equality_text, node.keys))
        yield "join", f"{how}, on {' and '.join(texts)}"
        for condition in node.residual:
            yield "and", condition_text(condition)
        for port in (0, 1):
            yield "event time", f"a row of S{port} is held {_held_text(node, port, times)}"
        yield "state", "rows of both sides, until then, where Spark keeps any"

    def expressions(self, node: Join) -> Iterator[Expression]:
        yield from node.compared
        yield from node.residual

    def refusals(self, node: Join) -> Iterator[Diagnostic]:
        for condition in _of_both(node) if any(node.keeps) else ():
            if any(isinstance(e, FunctionCall) and is_python(e) for e in walk(condition)):
                message = "an outer join on Spark cannot match rows by what Python makes of both"
                yield refused(message, condition.span)

    def stream_refusals(self, node: Join, times: Times) -> Iterator[Diagnostic]:
        if not ways_out(node, times):
            message = f"Spark cannot tell how long rows of the join of {node.name} are held: "
            yield refused(message + _why_held(node, times), node.pairs[0].sides[0].span)


# In words


def _why_held(node: Join, times: Times) -> str:
    sides = relation_times(node.pairs[0], [times[child.name] for child in node.inputs])
    return why_no_event_time(next(each for each in sides if not has_event_time(each)))


def _held_text(node: Join, port: int, times: Times) -> str:
    return " or ".join(_way_text(node, port, way) for way in ways_out(node, times))


def _way_text(node: Join, port: int, way: Ways) -> str:
    pair = node.pairs[way.pair]
    reach = max(0, pair.reach[port])
    ends = [(function, "v + 1") for function in way.sides[port]]
    ends += [(function, f"v + {reach + 1}") for function in way.sides[1 - port]]
    sign = "-" if pair.sides[port].temporal is Temporal.DECREASING else ""
    return (
        f"until base time {latest_text(ends)}, with v = {sign}{expression_text(pair.sides[port])}"
    )


# What matches


def _conditions(node: Join, is_streaming: bool) -> Iterator[Column]:
    keys = [f"k{at}" for at in range(len(node.keys))]
    keys += [f"t{at}" for at, pair in enumerate(node.pairs) if pair.is_equality]
    for name in keys or ["all"]:
        yield F.col(f"l_{name}") == F.col(f"r_{name}")
    for at, pair in enumerate(node.pairs):
        if not pair.is_equality:
            yield F.col(f"r_t{at}").between(F.col(f"l_low{at}"), F.col(f"l_high{at}"))
    for port, name in enumerate(NAMES):
        if node.keeps[port]:
            yield F.col(f"{name}_can_match")
    if any(node.keeps):
        yield from (is_true(_over_sides(e)) for e in _of_both(node))
    if is_streaming:
        yield F.col("l_until") < F.col("r_end")
        yield F.col("r_until") < F.col("l_end")


def _of_both(node: Join) -> list[Expression]:
    return [e for e in node.residual if len(ports_of(e)) > 1]


def _over_sides(expression: Expression) -> Value:
    def leaf(e: Expression) -> Value:
        assert isinstance(e, ColumnRef)
        return Value(F.col(f"{NAMES[e.port]}_c{e.index}"), None)

    return column(expression, leaf)


# What is put out


def _put_out(node: Join) -> Iterator[Column]:
    columns = zip(node.columns, node.schema.columns, strict=True)
    for index, (joined, made) in enumerate(columns):
        values = [_widened(node, joined, port, made.type) for port in (0, 1)]
        there = [value for value in values if value is not None]
        # of equated columns that of the side that is there: the other is NULL where it is not
        yield (there[0] if len(there) == 1 else F.coalesce(*there)).alias(f"c{index}")


def _widened(node: Join, joined: JoinedColumn, port: int, type_: Type) -> Column | None:
    place = joined.places[port]
    if place is None:
        return None
    own = ColumnRef.to(node.inputs[port].schema.columns[place], place, port=port)
    if own.type is type_ or None in joined.places:
        return _over_sides(own).column
    return _over_sides(Cast(type=type_, operand=own, nullable=True, span=own.span)).column
