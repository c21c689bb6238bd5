# SPDX-License-Identifier: Apache-2.0
"""What an exact answer costs.

Both levels, rows as Arrow batches, against the reference loop, which leaves partial tuples and goes
home, mapped or read, whichever is faster. The table size is the engine's own choice.
"""

from __future__ import annotations

from context import Bench, rate_ratio, speeds
from measure import loops, ours
from queries import TALKERS
from report import Figure
from workloads import REAL, Capture

TITLE = "Whole path, exact rows / reference loop"
CAPTURES = ("uniform-66k", "uniform-260k", "uniform-520k", "zipf-260k", "mixed-260k", REAL)
FLOOR, GOAL = 0.4, 0.6
TARGET, REAL_TARGET = 0.6, 0.5


def ask(bench: Bench) -> list[Figure]:
    """Rates and their ratio on every capture."""
    return [figure for capture in bench.captures(CAPTURES) for figure in _ask(bench, capture)]


def _ask(bench: Bench, capture: Capture) -> list[Figure]:
    by_hand = loops(capture, "reference", "direct")
    turns = bench.in_turn({"whole path": ours("whole_path", capture, TALKERS), **by_hand})
    target = REAL_TARGET if capture.name == REAL else TARGET
    ratio = rate_ratio(capture, turns, "whole path", by_hand, FLOOR, GOAL, target)
    return [*speeds(capture, turns), ratio]
