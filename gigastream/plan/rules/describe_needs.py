# SPDX-License-Identifier: Apache-2.0
"""What consumers look at travels down to the LFTAs (OPERATORS section 1).

Between heartbeats a punctuation is worth sending only when it changes the value of some consumer's
expression.
"""

from __future__ import annotations

from dataclasses import replace

from gigastream.gsql.expressions import ColumnRef, Expression, rewrite
from gigastream.gsql.order.inference import Monotone
from gigastream.plan.nodes import (
    Aggregate,
    Limit,
    LowNode,
    LowSelect,
    Node,
    PartialAggregate,
    Plan,
    Select,
    Union,
    over_timestamp,
)
from gigastream.plan.rules.rebuild import change_low

MAX_NEEDS = 4


def describe_needs(plan: Plan) -> Plan:
    """Give every LFTA the monotone functions of the packet's time that its consumers group by.

    Query:
        SELECT time_ms AS t FROM PKT;
        DEFINE { query_name b; } SELECT tb, count(*) AS n FROM query GROUP BY t/1000 AS tb
    Before:
        announces  at each heartbeat
    After:
        announces  when timestamp b -> floor(b/1000000)/1000 grows
                   at each heartbeat
    """
    needs: dict[int, list[Monotone]] = {id(node): [] for node in plan.low}
    for node in plan.nodes:
        if isinstance(node, Aggregate) and not node.merges_partials:
            groups = [node.groups[i].expression for i in node.temporal_groups]
            _ask(node.input, groups, needs)

    def change(node: LowNode) -> LowNode:
        own = [f for f in node.bounds if f] if isinstance(node, PartialAggregate) else []
        wanted = own or _distinct(needs[id(node)])
        return replace(node, needs=tuple(wanted[:MAX_NEEDS]))

    return change_low(plan, change)


def _ask(node: Node, expressions: list[Expression], needs: dict[int, list[Monotone]]) -> None:
    if isinstance(node, LowSelect):
        below = [_through(e, [o.expression for o in node.outputs]) for e in expressions]
        needs[id(node)] += [f for f in map(over_timestamp, below) if f is not None]
    elif isinstance(node, Select):
        _ask(
            node.input,
            [_through(e, [o.expression for o in node.outputs]) for e in expressions],
            needs,
        )
    elif isinstance(node, Limit):
        _ask(node.input, expressions, needs)
    elif isinstance(node, Union):
        for part in node.parts:
            _ask(part, expressions, needs)


def _through(expression: Expression, columns: list[Expression]) -> Expression:
    """The expression with each column replaced by what it is made of."""

    def replace_column(node: Expression) -> Expression:
        return columns[node.index] if isinstance(node, ColumnRef) else node

    return rewrite(expression, replace_column)


def _distinct(functions: list[Monotone]) -> list[Monotone]:
    return list({function.forward_text: function for function in functions}.values())
