# SPDX-License-Identifier: Apache-2.0
"""One table for LFTAs that group the same packets in the same way, each by its own predicate."""

from __future__ import annotations

import json

from gigastream.gsql.expressions import Constant, Expression, FieldRef, Operation
from gigastream.plan.operators.low_node import LowNode
from gigastream.plan.plan import Plan
from gigastream.plan.rules.rebuild import change_low
from gigastream.plan.to_json import value_to_json

MOST_MEMBERS = 32
"""GS_MEMBERS_MAX of csrc/abi/gs_members.h: a slot has a bit for each predicate."""
_OF_FEW_VALUES = ("ipversion", "protocol")
"""Fields of which one value is that of many packets."""


def share_groups(plan: Plan) -> Plan:
    """Let LFTAs of the same packets, groups and options of the table fill one table together.

    Each has its own predicate and aggregates in the slot, and a bit there that says whether the
    group is there for it; its rows go to its own stream. One that takes few packets stays alone:
    what it has in common with others would not be worth the larger slot.

    Query:
        SELECT tb, srcIP, count(*) AS n FROM IP WHERE len > 100 GROUP BY time/60 AS tb, srcIP;
        DEFINE { query_name b; } SELECT minute, from_, sum(len) AS bytes FROM IP WHERE len > 80
        GROUP BY srcIP AS from_, time/60 AS minute
    Before:
        table      the engine's default number of slots
        flush      slow: an old group at the engine's pace, at most 2 windows late
    After:
        table      the engine's default number of slots
                   one with b_low: the groups are the same
    After:
        table      the engine's default number of slots
                   one with query_low: the groups are the same
    """
    alike: dict[object, list[str]] = {}
    for node in plan.low:
        key = node.table_key
        if key is not None and not _takes_few(plan, node):
            source = json.dumps(value_to_json(node.source), sort_keys=True)
            alike.setdefault((source, key), []).append(node.name)
    sets: dict[str, tuple[str, ...]] = {}
    for names in alike.values():
        for at in range(0, len(names), MOST_MEMBERS):
            together = tuple(names[at : at + MOST_MEMBERS])
            sets.update((name, together) for name in together if len(together) > 1)
    return _with_tables(plan, sets)


def unshared(plan: Plan) -> Plan:
    """The same plan, each LFTA of which has a table of its own."""
    return _with_tables(plan, {})


def _with_tables(plan: Plan, sets: dict[str, tuple[str, ...]]) -> Plan:
    if all(node.table_of == sets.get(node.name, ()) for node in plan.low):
        return plan
    return change_low(plan, lambda node: node.with_table(sets.get(node.name, ())))


def _takes_few(plan: Plan, node: LowNode) -> bool:
    """Whether a conjunct asks a field for one of its many values."""
    prefilter = (plan.prefilter[bit] for bit in node.signature)
    return any(map(_asks_for_one, (*prefilter, *node.predicates)))


def _asks_for_one(e: Expression) -> bool:
    if not isinstance(e, Operation) or e.operator != "=":
        return False
    fields = [part for part in e.operands if isinstance(part, FieldRef)]
    constants = [part for part in e.operands if isinstance(part, Constant)]
    return bool(fields and constants) and fields[0].accessor not in _OF_FEW_VALUES
