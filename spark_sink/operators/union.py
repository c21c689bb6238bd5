# SPDX-License-Identifier: Apache-2.0
"""Union of streams on Spark."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

from gigastream.plan.operators.union import Union
from spark_sink.operators.operator import Lines, SparkOperator, Times

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from gigastream.plan import Plan
    from spark_sink.dataframes import Frames


class UnionOnSpark(SparkOperator[Union]):
    """Rows of all inputs; the one watermark is over all of them."""

    def frame(self, frames: Frames, node: Union) -> DataFrame:
        return reduce(lambda a, b: a.unionAll(b), map(frames.of, node.parts))

    def lines(self, plan: Plan, node: Union, times: Times) -> Lines:
        yield "unionAll", ", ".join(part.name for part in node.parts)
