# SPDX-License-Identifier: Apache-2.0
"""The form of an aggregation above the border: which windows its groups are of."""

from __future__ import annotations

from gigastream.gsql.queries import CheckedQuery
from gigastream.plan.operators.aggregate import Aggregate
from gigastream.plan.operators.running_aggregate import going_on
from gigastream.plan.operators.slide import over_windows


def in_its_form(query: CheckedQuery, top: Aggregate) -> Aggregate:
    """The aggregation of a query: of groups that go on, over panes, or of a window each."""
    if query.closing_when is not None:
        return going_on(top, query.closing_when)
    return over_windows(query, top)
