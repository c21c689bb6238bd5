# SPDX-License-Identifier: Apache-2.0
"""The settings that a capture is run with: those that must not change a row, and those that may."""

from __future__ import annotations

from typing import Any

from tests.sanitize.jobs import HOWS

# Whatever these are, the rows are the same.
SAME_ROWS: tuple[dict[str, Any], ...] = (
    {},
    {"burst": 1, "slots": 1, "flush": "immediate", "heartbeat_packets": 1},
    {"burst": 256, "slots": 16, "flush": "lazy", "heartbeat_ns": 0, "heartbeat_packets": 0},
    {"burst": 7, "slots": 2, "flush": "slow_inorder", "batch_rows": 1, "deliver_every_burst": True},
    {"burst": 64, "slots": 4096, "flush": "slow", "heartbeat_ns": 1_000_000, "batch_rows": 3},
    {"burst": 3, "slots": 8, "disorder_bytes": 0, "hash_key": (1, 1), "batch_rows": 64},
    {"burst": 64, "slots": 4, "fast_path": False},
)
# These lose rows on purpose.
OTHER_ROWS: tuple[dict[str, Any], ...] = (
    {"max_groups": 1, "slots": 1, "burst": 5},
    {"disorder_bytes": 1, "batch_rows": 2},
    {"slack_ns": 0, "flush": "immediate", "heartbeat_packets": 3},
    {"slack_ns": 10**18, "slots": 1, "flush": "slow_inorder", "max_groups": 7},
    {"low_level_only": True, "slots": 4},
    {"filter": "tcp or vlan or ip6", "burst": 2},
    {"disorder_bytes": 512, "slots": 32, "flush": "lazy", "filter": "udp port 53"},
)
A_PIPE_AS_A_FILE = {"slack_ns": (1 << 63) - 1}
"""A pipe's packets may be late by its slack; with this none is."""


COARSE = tuple(s for s in SAME_ROWS if min(s.get("batch_rows", 9), s.get("burst", 9)) > 3)
"""Those of them under which a batch is not a row or two: for captures that are not small."""
LARGE_BYTES = 100_000


def same_rows(number: int, capture_bytes: int = 0) -> tuple[str, dict[str, Any]]:
    """How to deliver a file and its settings: the combinations in turn."""
    how = HOWS[number % len(HOWS)]
    choice = COARSE if capture_bytes > LARGE_BYTES else SAME_ROWS
    settings = choice[number // len(HOWS) % len(choice)]
    return how, settings | (A_PIPE_AS_A_FILE if how == "pipe" else {})


def other_rows(number: int) -> tuple[str, dict[str, Any]]:
    """The same for settings that lose rows."""
    return HOWS[number % len(HOWS)], OTHER_ROWS[number // len(HOWS) % len(OTHER_ROWS)]
