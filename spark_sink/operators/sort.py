# SPDX-License-Identifier: Apache-2.0
"""Sort on Spark: the rows as they come, since nothing there waits for an order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gigastream.plan.operators.sort import Sort
from spark_sink.operators.operator import Lines, SparkOperator, Times

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from gigastream.plan import Plan
    from spark_sink.dataframes import Frames


class SortOnSpark(SparkOperator[Sort]):
    """What it stands before sorts by itself, or finds rows by their values: no answer needs it."""

    def frame(self, frames: Frames, node: Sort) -> DataFrame:
        return frames.of(node.input)

    def lines(self, plan: Plan, node: Sort, times: Times) -> Lines:
        yield "order", "none is needed: rows are found by their values"
