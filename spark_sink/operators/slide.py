# SPDX-License-Identifier: Apache-2.0
"""Aggregation over windows that overlap on Spark: it is refused."""

from __future__ import annotations

from collections.abc import Iterator

from gigastream.gsql.diagnostics import Diagnostic
from gigastream.plan.operators.slide import Slide
from spark_sink.operators.operator import SparkOperator
from spark_sink.operators.refusal import refused


class SlideOnSpark(SparkOperator[Slide]):
    """Panes are combined in the engine alone; windows that do not overlap are an aggregation."""

    def refusals(self, node: Slide) -> Iterator[Diagnostic]:
        message = (
            f"the windows of {node.name} overlap: they are made of panes, and not on Spark yet"
        )
        yield refused(message, node.groups[0].expression.span)
