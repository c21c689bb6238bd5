# SPDX-License-Identifier: Apache-2.0
"""Sort on Spark: it is refused."""

from __future__ import annotations

from collections.abc import Iterator

from gigastream.gsql.diagnostics import Diagnostic
from gigastream.plan.operators.sort import Sort
from spark_sink.operators.operator import SparkOperator
from spark_sink.operators.refusal import refused


class SortOnSpark(SparkOperator[Sort]):
    """A streaming query of Spark cannot be sorted; a merge says so itself."""

    def refusals(self, node: Sort) -> Iterator[Diagnostic]:
        if node.asked_at is not None:
            message = (
                "DEFINE in_order cannot run on Spark: the rows of a stream have no order there"
            )
            yield refused(message, node.asked_at)
