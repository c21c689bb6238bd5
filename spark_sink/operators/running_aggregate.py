# SPDX-License-Identifier: Apache-2.0
"""Groups that go on from window to window on Spark: they are refused."""

from __future__ import annotations

from collections.abc import Iterator

from gigastream.gsql.diagnostics import Diagnostic
from gigastream.plan.operators.running_aggregate import RunningAggregate
from spark_sink.operators.aggregate import AggregateOnSpark
from spark_sink.operators.refusal import refused


class RunningAggregateOnSpark(AggregateOnSpark[RunningAggregate]):
    """A window's answer there follows from its own rows: a group that goes on needs all before."""

    def refusals(self, node: RunningAggregate) -> Iterator[Diagnostic]:
        message = (
            f"CLOSING_WHEN of {node.name} cannot run on Spark: "
            "its windows are answered each by itself, and a group that goes on needs those before"
        )
        yield refused(message, node.closing.span)
