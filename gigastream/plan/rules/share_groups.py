# SPDX-License-Identifier: Apache-2.0
"""One table for LFTAs that group the same packets in the same way, each by its own predicate."""

from __future__ import annotations

import json
from dataclasses import replace

from gigastream.plan.accumulators import Accumulator, UserAccumulator, expression_key
from gigastream.plan.costs import is_total_and_cheap
from gigastream.plan.operators.low_node import LowNode
from gigastream.plan.operators.partial_aggregate import PartialAggregate
from gigastream.plan.plan import Plan
from gigastream.plan.rules.rebuild import change_low
from gigastream.plan.to_json import node_to_json

MOST_MEMBERS = 32
"""GS_MEMBERS_MAX of csrc/abi/gs_members.h: a slot has a bit for each predicate."""


def share_groups(plan: Plan) -> Plan:
    """Let LFTAs of the same packets, groups and options of the table fill one table together.

    Each has its own predicate and aggregates in the slot, and a bit there that says whether the
    group is there for it; its rows go to its own stream. Those of which a packet's value may be
    wanting, of no fixed size or made by functions have a table of their own, as have FILTER_JOINs
    and windows of rows.

    Query:
        SELECT tb, srcIP, count(*) AS n FROM IP WHERE len > 100 GROUP BY time/60 AS tb, srcIP;
        DEFINE { query_name b; } SELECT minute, from_, sum(len) AS bytes FROM IP WHERE len < 80
        GROUP BY srcIP AS from_, time/60 AS minute
    Before:
        table      the engine's default number of slots
        flush
    After:
        table      the engine's default number of slots
                   one with that of b_low: the groups are the same
    After:
        table      the engine's default number of slots
                   one with that of query_low: the groups are the same
    """
    alike: dict[str, list[str]] = {}
    for node in plan.low:
        if isinstance(node, PartialAggregate) and may_share(node):
            alike.setdefault(_table(node), []).append(node.name)
    sets: dict[str, tuple[str, ...]] = {}
    for names in alike.values():
        for at in range(0, len(names), MOST_MEMBERS):
            together = tuple(names[at : at + MOST_MEMBERS])
            sets.update((name, together) for name in together if len(together) > 1)
    return _with_sets(plan, sets)


def unshared(plan: Plan) -> Plan:
    """The same plan, each LFTA of which has a table of its own."""
    return _with_sets(plan, {})


def _with_sets(plan: Plan, sets: dict[str, tuple[str, ...]]) -> Plan:
    def change(node: LowNode) -> LowNode:
        if not isinstance(node, PartialAggregate):
            return node
        return replace(node, table_of=sets.get(node.name, ()))

    return change_low(plan, change)


def may_share(node: PartialAggregate) -> bool:
    """Whether what it keeps of a packet is there for every packet, and small."""
    if node.filter is not None or node.row_column is not None:
        return False
    if any(group.expression.type.is_wide for group in node.groups):
        return False
    return all(map(_is_plain, node.accumulators))


def _is_plain(accumulator: Accumulator) -> bool:
    if isinstance(accumulator, UserAccumulator):
        return False
    return all(is_total_and_cheap(e) and not e.type.is_wide for e in accumulator.expressions)


def _table(node: PartialAggregate) -> str:
    """The text is equal for two that can fill one table: the order of the groups says nothing.

    But that of the temporal ones does: windows are compared by them in order.
    """
    groups = [group.expression for group in node.groups]
    temporal = [expression_key(e) for e in groups if e.temporal.is_temporal]
    others = sorted(repr(expression_key(e)) for e in groups if not e.temporal.is_temporal)
    source = node_to_json(node)["source"]
    return json.dumps([source, repr(temporal), others, repr(node.options.of_table)], sort_keys=True)
