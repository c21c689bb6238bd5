# SPDX-License-Identifier: Apache-2.0
"""Grouping sets on Spark: a row for each set."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from gigastream.plan.operators.expand import Expand
from spark_sink.operators.operator import Lines, SparkOperator, Times

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from gigastream.plan import Plan
    from spark_sink.dataframes import Frames

_MASK = "mask"


class ExpandOnSpark(SparkOperator[Expand]):
    """A mask for each set; a column that the set lacks is NULL."""

    def frame(self, frames: Frames, node: Expand) -> DataFrame:
        masks = F.array(*(F.lit(mask).cast("bigint") for mask in node.grouping.masks))
        rows = frames.of(node.input).withColumn(_MASK, F.explode(masks))
        columns = range(len(node.schema.columns))
        own = [_column(rows, node, index).alias(f"c{index}") for index in columns]
        return rows.select(*own)

    def lines(self, plan: Plan, node: Expand, times: Times) -> Lines:
        for label, sets in node.details(plan):
            yield "explode", f"{label} {', '.join(sets)}"


def _column(rows: DataFrame, node: Expand, index: int) -> Column:
    if index == node.mask:
        return rows[_MASK]
    column, bit = rows[f"c{node.below(index)}"], node.lacking_bit(index)
    if bit is None:
        return column
    return F.when(rows[_MASK].bitwiseAND(F.lit(1 << bit)) == 0, column)
