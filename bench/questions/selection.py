# SPDX-License-Identifier: Apache-2.0
"""What does a packet cost that nobody wants? A selection of one in a hundred, rows written."""

from __future__ import annotations

from context import Bench, rate_ratio, speeds
from measure import loops, ours
from queries import SELECTION
from report import Figure
from workloads import Capture

TITLE = "Selection of 1 % / the same loop by hand"
CAPTURES = ("uniform-260k", "mixed-260k")
FLOOR, GOAL = 0.4, 0.6


def ask(bench: Bench) -> list[Figure]:
    """Rates and their ratio."""
    return [figure for capture in bench.captures(CAPTURES) for figure in _ask(bench, capture)]


def _ask(bench: Bench, capture: Capture) -> list[Figure]:
    by_hand = loops(capture, "select")
    turns = bench.in_turn({"whole path": ours("whole_path", capture, SELECTION), **by_hand})
    ratio = rate_ratio(capture, turns, "whole path", by_hand, FLOOR, GOAL)
    return [*speeds(capture, turns), ratio]
