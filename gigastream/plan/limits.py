# SPDX-License-Identifier: Apache-2.0
"""What the engine has only so much room for: a query that needs more of it is refused."""

from __future__ import annotations

from gigastream.gsql.diagnostics import Diagnostic, GsqlError
from gigastream.gsql.expressions import Expression
from gigastream.plan.nodes import (
    Aggregate,
    LowSelect,
    Node,
    OrderLimit,
    PartialAggregate,
    Plan,
)

MAX_TEMPORAL = 32
"""GS_TEMPORAL_MAX of csrc/abi/gs_query_set.h: bounds of one stream, or of one aggregation."""


def check_limits(plan: Plan) -> None:
    """GsqlError at the first temporal expression that is one too many."""
    for node in plan.nodes:
        followed = [e for e in _bounded(node) if e.temporal.is_temporal]
        if len(followed) > MAX_TEMPORAL:
            message = f"more than {MAX_TEMPORAL} temporal columns"
            hint = "non_temporal(…) makes one that need not be followed"
            span = followed[MAX_TEMPORAL].span
            raise GsqlError([Diagnostic("error", "too-many-temporal", message, span, hint)])


def _bounded(node: Node) -> list[Expression]:
    """The expressions whose bounds the node keeps."""
    if isinstance(node, Aggregate | PartialAggregate):
        return [group.expression for group in node.groups]
    if isinstance(node, OrderLimit):
        return [node.input.outputs[index].expression for index in node.windows]
    return [output.expression for output in node.outputs] if isinstance(node, LowSelect) else []
