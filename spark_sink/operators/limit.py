# SPDX-License-Identifier: Apache-2.0
"""LIMIT of a selection on Spark: of a batch its first rows by time; a stream has no end there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gigastream.gsql.diagnostics import Diagnostic
from gigastream.plan.builders import first_temporal
from gigastream.plan.operators.limit import Limit
from spark_sink.operators.operator import Lines, SparkOperator, Times
from spark_sink.operators.refusal import refused
from spark_sink.operators.rows import in_time

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from gigastream.plan import Plan
    from spark_sink.dataframes import Frames


class LimitOnSpark(SparkOperator[Limit]):
    """Of rows of equal times any may be the last ones; of rows without a time any are the first."""

    def frame(self, frames: Frames, node: Limit) -> DataFrame:
        rows, place = frames.of(node.input), first_temporal(node.schema)
        ordered = rows if place is None else rows.orderBy(in_time(node.schema, place))
        return ordered.limit(node.limit)

    def lines(self, plan: Plan, node: Limit, times: Times) -> Lines:
        yield "limit", f"the first {node.limit:,} by time"

    def stream_refusals(self, node: Limit, times: Times) -> Iterator[Diagnostic]:
        message = f"LIMIT of {node.name} cannot run on Spark: no stream ends there by itself"
        yield refused(message, node.span)
