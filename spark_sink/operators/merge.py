# SPDX-License-Identifier: Apache-2.0
"""MERGE on Spark: the rows of all inputs, and their order where all of them are there."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

from gigastream.plan.operators.merge import Merge
from spark_sink.operators.operator import Lines, SparkOperator, Times

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from gigastream.plan import Plan
    from spark_sink.dataframes import Frames


class MergeOnSpark(SparkOperator[Merge]):
    """What reads a merge on Spark takes rows as they come; the output of one is sorted in the end.

    So nothing is held here, and no row is too late.
    """

    def frame(self, frames: Frames, node: Merge) -> DataFrame:
        return reduce(lambda a, b: a.unionAll(b), map(frames.of, node.parts))

    def lines(self, plan: Plan, node: Merge, times: Times) -> Lines:
        yield "unionAll", ", ".join(part.name for part in node.parts)
        yield "order", "none: what reads it takes rows as they come"
