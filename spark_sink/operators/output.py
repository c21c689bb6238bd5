# SPDX-License-Identifier: Apache-2.0
"""What the user sees of a query on Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gigastream.plan.operators.output import Output
from spark_sink.operators.operator import SparkOperator

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from spark_sink.dataframes import Frames


class OutputOnSpark(SparkOperator[Output]):
    """Columns under the query's names, in types from inside."""

    def frame(self, frames: Frames, node: Output) -> DataFrame:
        return frames.of(node.input).toDF(*(column.name for column in node.schema.columns))
