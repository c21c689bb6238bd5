# SPDX-License-Identifier: Apache-2.0
"""MERGE on Spark: the rows of all inputs; where their order is seen they leave in it.

What waits for time above takes rows as they come. Where nothing does, a row leaves once its time is
over, so that what leaves is later than what has left, and each micro-batch is sorted.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import TYPE_CHECKING, cast

from pyspark.sql import functions as F

from gigastream.gsql.expressions import ColumnRef
from gigastream.plan.base_time import Alternatives
from gigastream.plan.nodes import Node
from gigastream.plan.operators.merge import Merge
from gigastream.plan.operators.output import Output
from spark_sink.lateness import Late
from spark_sink.operators.operator import Lines, SparkOperator, Times
from spark_sink.operators.passing import begins_with, closes_by
from spark_sink.operators.rows import in_time, kept, of_bounds, over_columns

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from gigastream.plan import Plan
    from spark_sink.dataframes import Frames

_PORT = "_port"


class MergeOnSpark(SparkOperator[Merge]):
    """A union, until somebody sees its order."""

    waits = True

    def frame(self, frames: Frames, node: Merge) -> DataFrame:
        parts = (frames.of(part) for part in node.parts)
        numbered = (rows.withColumn(_PORT, F.lit(port)) for port, rows in enumerate(parts))
        rows = _within_bounds(node, reduce(lambda a, b: a.unionAll(b), numbered))
        if rows.isStreaming or not frames.is_last_to_wait:
            return rows.drop(_PORT)
        value, ways = rows[f"c{node.column}"].cast("bigint"), frames.times[node.name][node.column]
        return _sorted_rows(node, frames.in_time(rows, [(value, ways)]))

    def begins(self, node: Merge, inputs: Sequence[Late], base_ns: int) -> int:
        return begins_with([_time(node, inputs)], base_ns)

    def closes(self, node: Merge, inputs: Sequence[Late], after_ns: int, until_ns: int) -> bool:
        return closes_by([_time(node, inputs)], after_ns, until_ns)

    def lines(self, plan: Plan, node: Merge, times: Times) -> Lines:
        yield "unionAll", ", ".join(part.name for part in node.parts)
        if any(merge_seen_in(output) is node for output in plan.outputs):
            yield "orderBy", f"{node.schema.columns[node.column].name}, once it is over"


def merge_seen_in(output: Output) -> Merge | None:
    """The merge in whose order an output's rows are: selections alone are above it."""
    node: Node = output.input
    while node.passes_rows:
        (node,) = node.inputs
    return cast("Merge", node) if node.merges else None


def _time(node: Merge, inputs: Sequence[Late]) -> Alternatives:
    return node.base_times([late.times for late in inputs])[node.column]


def _within_bounds(node: Merge, rows: DataFrame) -> DataFrame:
    own = ColumnRef.to(node.schema.columns[node.column], node.column)
    return kept(rows, [], [of_bounds(over_columns(own, rows), own)])


def _sorted_rows(node: Merge, rows: DataFrame) -> DataFrame:
    """Of equal times the input that stands first goes first."""
    return rows.orderBy(in_time(node.schema, node.column), _PORT).drop(_PORT)
