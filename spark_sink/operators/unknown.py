# SPDX-License-Identifier: Apache-2.0
"""An operator that Spark does not have yet."""

from __future__ import annotations

from collections.abc import Iterator

from gigastream.gsql.diagnostics import Diagnostic
from gigastream.gsql.source import NOWHERE
from gigastream.plan.nodes import Node
from spark_sink.operators.operator import SparkOperator
from spark_sink.operators.refusal import refused


class Unknown(SparkOperator[Node]):
    """It is refused."""

    def refusals(self, node: Node) -> Iterator[Diagnostic]:
        yield refused(f"{node.kind} of {node.name} cannot run on Spark yet", NOWHERE)
