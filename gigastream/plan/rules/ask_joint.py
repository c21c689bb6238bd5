# SPDX-License-Identifier: Apache-2.0
"""A joint bound is computed only where somebody asks for it (Li et al., VLDB 2008, section 7)."""

from __future__ import annotations

from gigastream.plan.plan import Plan
from gigastream.plan.rules.rebuild import change_all


def ask_joint(plan: Plan) -> Plan:
    """Let joins promise both times together where a consumer groups by both.

    Query:
        SELECT a.time AS begin_, b.time AS end_, count(*) AS pairs
        FROM TCP a, UDP b WHERE a.time >= b.time - 5 AND a.time <= b.time
        GROUP BY a.time, b.time
    Before:
        |  holds    a row of S0 until punctuation says S1.time > S0.time + 5
    After:
        |  gives    a joint bound of the times of S0 and S1
    """
    asked: dict[int, frozenset[int]] = {}
    for node in reversed(plan.nodes):
        below = node.together(asked.get(id(node), frozenset()))
        for child in node.inputs:
            asked[id(child)] = asked.get(id(child), frozenset()) | below
    return change_all(plan, lambda node, old: node.with_joint(asked.get(id(old), frozenset())))
