# SPDX-License-Identifier: Apache-2.0
"""What do addresses of either family cost? Count and bytes over TCP, sixteen bytes each."""

from __future__ import annotations

from context import Bench, rate_ratio, speeds
from measure import DEFAULT_SLOTS_LOG2, loops, ours
from queries import TALKERS_TCP, with_slots
from report import Figure
from workloads import Capture

TITLE = "TCP with INET addresses / the same loop by hand"
CAPTURES = ("uniform-260k", "real")
LOW_FLOOR, LOW_TARGET, LOW_GOAL = 0.6, 0.7, 0.9
WHOLE_FLOOR, WHOLE_TARGET, WHOLE_GOAL = 0.4, 0.5, 0.6


def ask(bench: Bench) -> list[Figure]:
    """Rates of both levels and of the low one, and their ratios."""
    return [figure for capture in bench.captures(CAPTURES) for figure in _ask(bench, capture)]


def _ask(bench: Bench, capture: Capture) -> list[Figure]:
    sized = with_slots(TALKERS_TCP, DEFAULT_SLOTS_LOG2)
    by_hand = loops(capture, "inet")
    turns = bench.in_turn(
        {
            "low level": ours("low_level", capture, sized),
            "whole path": ours("whole_path", capture, TALKERS_TCP),
            **by_hand,
        }
    )
    low_bounds = (LOW_FLOOR, LOW_GOAL, LOW_TARGET)
    low = rate_ratio(capture, turns, "low level", by_hand, *low_bounds)
    whole_bounds = (WHOLE_FLOOR, WHOLE_GOAL, WHOLE_TARGET)
    whole = rate_ratio(capture, turns, "whole path", by_hand, *whole_bounds)
    return [*speeds(capture, turns), low, whole]
