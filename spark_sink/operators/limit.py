# SPDX-License-Identifier: Apache-2.0
"""LIMIT of a selection on Spark: it is refused."""

from __future__ import annotations

from collections.abc import Iterator

from gigastream.gsql.diagnostics import Diagnostic
from gigastream.plan.operators.limit import Limit
from spark_sink.operators.operator import SparkOperator, Times
from spark_sink.operators.refusal import refused


class LimitOnSpark(SparkOperator[Limit]):
    """A streaming query of Spark has no first rows after which it ends."""

    def refusals(self, node: Limit, times: Times) -> Iterator[Diagnostic]:
        message = f"LIMIT of {node.name} cannot run on Spark: no stream ends there by itself"
        yield refused(message, node.span)
