# SPDX-License-Identifier: Apache-2.0
"""The operators of a plan, a file each: all that is asked of a node stands in its file."""

from __future__ import annotations

from gigastream.gsql.queries import CheckedQuery, OutputColumn
from gigastream.plan.nodes import ClauseNode
from gigastream.plan.operators.limit import Limit
from gigastream.plan.operators.order_limit import OrderLimit

CLAUSES: tuple[type[ClauseNode], ...] = (Limit, OrderLimit)
"""What clauses of a query put on top of its rows, in this order."""


def with_hidden(query: CheckedQuery) -> tuple[OutputColumn, ...]:
    """The columns of a query, and behind them what its clauses read beside these."""
    hidden = (column for clause in CLAUSES for column in clause.hidden_columns(query))
    return (*query.outputs, *hidden)
