# SPDX-License-Identifier: Apache-2.0
"""MERGE on Spark: it is refused."""

from __future__ import annotations

from collections.abc import Iterator

from gigastream.gsql.diagnostics import Diagnostic
from gigastream.plan.operators.merge import Merge
from spark_sink.operators.operator import SparkOperator
from spark_sink.operators.refusal import refused


class MergeOnSpark(SparkOperator[Merge]):
    """A union is the same rows; their order, which is what a merge is for, no reader would see."""

    def refusals(self, node: Merge) -> Iterator[Diagnostic]:
        message = f"MERGE of {node.name} cannot run on Spark: the rows of a stream have no order"
        yield refused(f"{message} there", node.span)
