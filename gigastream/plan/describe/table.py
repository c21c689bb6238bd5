# SPDX-License-Identifier: Apache-2.0
"""The options of an LFTA's table in words."""

from __future__ import annotations

from collections.abc import Mapping

MAX_LATE_WINDOWS = 2
"""What max_lfta_disorder is where a query does not say (GSQL section 1)."""


def slots_text(options: Mapping[str, str]) -> str:
    """How many groups it holds."""
    asked = options.get("aggregate_slots")
    return "the engine's default number of slots" if asked is None else f"{int(asked):,} slots"


def flush_text(options: Mapping[str, str]) -> str:
    """The policy of OPERATORS section 3."""
    policy = options.get("flush", "slow").lower()
    late = int(options.get("max_lfta_disorder", MAX_LATE_WINDOWS))
    pace = options.get("slow_flush")
    step = "at the engine's pace" if pace is None else f"every {pace} packets"
    limit = f"at most {late} windows late"
    return {
        "slow": f"slow: an old group {step}, {limit}",
        "slow_inorder": f"slow_inorder: an old group at each packet, window by window, {limit}",
        "immediate": "immediate: old groups at once, window by window",
        "lazy": f"lazy: by collisions alone, {limit}",
    }[policy]
