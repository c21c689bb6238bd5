# SPDX-License-Identifier: Apache-2.0
"""What the user sees of a query on Spark."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gigastream.gsql.diagnostics import Diagnostic
from gigastream.gsql.source import NOWHERE
from gigastream.plan.operators.output import Output
from spark_sink.operators.operator import SparkOperator, Times
from spark_sink.operators.refusal import refused
from spark_sink.operators.rows import in_time

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from spark_sink.dataframes import Frames


class OutputOnSpark(SparkOperator[Output]):
    """Columns under the query's names, in types from inside; a merge's in its order."""

    def frame(self, frames: Frames, node: Output) -> DataFrame:
        rows, place = frames.of(node.input), node.input.ordered_by(0)
        if place is not None and not rows.isStreaming:
            rows = rows.orderBy(in_time(node.schema, place))
        return rows.toDF(*(column.name for column in node.schema.columns))

    def stream_refusals(self, node: Output, times: Times) -> Iterator[Diagnostic]:
        if node.input.asks_order_at is not NOWHERE:
            message = f"{node.name} is in the order of a MERGE, and the rows of a stream have none"
            message += " on Spark; a query that reads it runs"
            yield refused(message, node.input.asks_order_at)
