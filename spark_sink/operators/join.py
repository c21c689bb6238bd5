# SPDX-License-Identifier: Apache-2.0
"""Join on Spark: it is refused."""

from __future__ import annotations

from collections.abc import Iterator

from gigastream.gsql.diagnostics import Diagnostic
from gigastream.plan.operators.join import Join
from spark_sink.operators.operator import SparkOperator, Times
from spark_sink.operators.refusal import refused


class JoinOnSpark(SparkOperator[Join]):
    """Its state is the engine's alone as yet."""

    def refusals(self, node: Join, times: Times) -> Iterator[Diagnostic]:
        yield refused(f"the join of {node.name} cannot run on Spark", node.pairs[0].sides[0].span)
