# SPDX-License-Identifier: Apache-2.0
"""Queries that sample on Spark: they are refused."""

from __future__ import annotations

from collections.abc import Iterator

from gigastream.gsql.diagnostics import Diagnostic
from gigastream.plan.operators.sample import Sample
from spark_sink.operators.aggregate import AggregateOnSpark
from spark_sink.operators.refusal import refused


class SampleOnSpark(AggregateOnSpark[Sample]):
    """What a supergroup keeps depends on every row before: there they come in no order."""

    def refusals(self, node: Sample) -> Iterator[Diagnostic]:
        message = (
            f"the sample of {node.name} cannot run on Spark: "
            "it is drawn row after row, and rows have no order there"
        )
        yield refused(message, node.sampling.span)
