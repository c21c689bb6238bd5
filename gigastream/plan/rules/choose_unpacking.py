# SPDX-License-Identifier: Apache-2.0
"""Which fields are unpacked for every packet of a burst, and which where an LFTA wants them."""

from __future__ import annotations

from collections import Counter

from gigastream.late_dataclass import replace
from gigastream.plan.costs import fields_of
from gigastream.plan.operators.low_node import LowNode
from gigastream.plan.plan import Plan

SELECTIVITY = 4
"""An LFTA behind a prefilter is taken to see one packet in so many."""


def choose_unpacking(plan: Plan) -> Plan:
    """Unpack early what the prefilter reads, and what the LFTAs together would read more than once.

    A field costs its accessor once a packet when unpacked early; late, once for each LFTA that is
    thought to see the packet.

    Query:
        SELECT time, srcIP FROM IPV4 WHERE len > 100;
        DEFINE { query_name b; } SELECT time, len FROM IPV4
    Before:
        unpacked late, where an LFTA reads them: len, time, srcIP
    After:
        unpacked early, for the whole burst: len, time
        unpacked late, where an LFTA reads them: srcIP
    """
    early = {field.accessor for field in fields_of(*plan.prefilter)}
    reads: Counter[str] = Counter()
    for node in plan.low:
        for field in fields_of(*node.expressions):
            if field.is_optional:
                continue
            if not field.type.is_wide and not field.accessor.startswith("@"):
                reads[field.accessor] += _packets_seen(node)
    early |= {accessor for accessor, seen in reads.items() if seen > SELECTIVITY}
    return replace(plan, early_fields=tuple(sorted(early)))


def _packets_seen(node: LowNode) -> int:
    return 1 if node.signature else SELECTIVITY
