# SPDX-License-Identifier: Apache-2.0
"""A stream of the low level on Spark: what the source reads of the spool.

Progress comes from the source's hidden column alone: it has the only watermark, and the rows that
carried it are filtered out right behind it, by a condition that the optimizer cannot move below.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gigastream.gsql.types import Type
from gigastream.plan.operators.low_node import LowNode
from spark_sink.operators.operator import Lines, SparkOperator, Times
from spark_sink.spark_types import unsigned

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from gigastream.plan import Plan
    from spark_sink.dataframes import Frames

BARRIER = "{heartbeat} is null and spark_partition_id() >= 0"
"""The partition's number makes it nondeterministic: it stays above the watermark."""


class LowStream(SparkOperator[LowNode]):
    """Its WHERE and its groups were asked below the border."""

    def frame(self, frames: Frames, node: LowNode) -> DataFrame:
        """A stream from below, whose heartbeats have moved the watermark and are gone."""
        places = frames.plan.columns_read(node)
        names = tuple(node.schema.columns[place].name for place in places)
        stream = frames.stream(node, names)
        heartbeat = stream.columns[0]
        if stream.isStreaming:
            barrier = BARRIER.format(heartbeat=heartbeat)
            stream = stream.withWatermark(heartbeat, "0 seconds").where(barrier)
        rows = stream.drop(heartbeat).toDF(*(f"c{place}" for place in places))
        as_bits = frames.columns_of_bits.get(node.name, frozenset())
        return rows.select(*(_inside(rows, node, place, as_bits) for place in places))

    def lines(self, plan: Plan, node: LowNode, times: Times) -> Lines:
        names = [node.schema.columns[index].name for index in plan.columns_read(node)]
        yield "readStream", f"format gigastream, stream {node.name}, columns {', '.join(names)}"


def _inside(rows: DataFrame, node: LowNode, place: int, as_bits: frozenset[int]) -> Column:
    """A column of a stream: an ullong is a decimal but where its bits are merged."""
    column = rows[f"c{place}"]
    if node.schema.columns[place].type is not Type.ULLONG or place in as_bits:
        return column
    return unsigned(column).alias(f"c{place}")
