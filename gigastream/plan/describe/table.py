# SPDX-License-Identifier: Apache-2.0
"""The options of an LFTA's table in words."""

from __future__ import annotations

from gigastream.flush_policy import MAX_DISORDER_WINDOWS, FlushPolicy
from gigastream.gsql.queries import ADAPTIVE_SLOTS, QueryOptions


def slots_text(options: QueryOptions) -> str:
    """How many groups it holds."""
    asked = options.aggregate_slots
    if asked == ADAPTIVE_SLOTS:
        return "as many slots as the groups of the last windows need"
    return "the engine's default number of slots" if asked is None else f"{asked:,} slots"


def flush_text(options: QueryOptions) -> str:
    """The policy of OPERATORS section 3."""
    asked, pace = options.max_lfta_disorder, options.slow_flush
    late = MAX_DISORDER_WINDOWS if asked is None else asked
    step = "at the engine's pace" if pace is None else f"every {pace} packets"
    limit = f"at most {late} windows late"
    return {
        FlushPolicy.SLOW: f"slow: an old group {step}, {limit}",
        FlushPolicy.SLOW_INORDER: "slow_inorder: an old group at each packet, window by window, "
        + limit,
        FlushPolicy.IMMEDIATE: "immediate: old groups at once, window by window",
        FlushPolicy.LAZY: f"lazy: by collisions alone, {limit}",
    }[options.flush or FlushPolicy.SLOW]
