# SPDX-License-Identifier: Apache-2.0
"""Are two levels worth it? Both of them against one exact table by hand, which has no prefetch."""

from __future__ import annotations

from context import Bench, rate_ratio, speeds
from measure import loops, ours
from queries import TALKERS
from report import Figure
from workloads import Capture

TITLE = "Whole path / exact one-level loop by hand"
CAPTURES = ("uniform-66k", "uniform-260k", "uniform-520k", "zipf-260k", "real")
FLOOR, GOAL = 1.0, 1.5


def ask(bench: Bench) -> list[Figure]:
    """Rates and their ratio on every capture."""
    return [figure for capture in bench.captures(CAPTURES) for figure in _ask(bench, capture)]


def _ask(bench: Bench, capture: Capture) -> list[Figure]:
    by_hand = loops(capture, "exact")
    turns = bench.in_turn({"whole path": ours("whole_path", capture, TALKERS), **by_hand})
    ratio = rate_ratio(capture, turns, "whole path", by_hand, FLOOR, GOAL)
    return [*speeds(capture, turns), ratio]
