# SPDX-License-Identifier: Apache-2.0
"""Is generated code as good as code by hand? The low level alone against the reference loop.

All have 2^18 slots. The judge is the best of the loops of the run, with prefetch and without,
mapped and read: which of them wins depends on the machine.
"""

from __future__ import annotations

from context import Bench, rate_ratio, speeds
from measure import DEFAULT_SLOTS_LOG2, loops, ours
from queries import TALKERS, with_slots
from report import Figure
from workloads import REAL, Capture

TITLE = "Low level alone / reference loop"
CAPTURES = ("uniform-66k", "uniform-260k", "uniform-520k", "zipf-260k", "mixed-260k", REAL)
FLOOR, GOAL = 0.6, 0.9
TARGET, REAL_TARGET = 0.8, 0.7


def ask(bench: Bench) -> list[Figure]:
    """Rates and their ratio on every capture."""
    return [figure for capture in bench.captures(CAPTURES) for figure in _ask(bench, capture)]


def _ask(bench: Bench, capture: Capture) -> list[Figure]:
    query = with_slots(TALKERS, DEFAULT_SLOTS_LOG2)
    by_hand = loops(capture, "reference", "direct")
    turns = bench.in_turn({"low level": ours("low_level", capture, query), **by_hand})
    target = REAL_TARGET if capture.name == REAL else TARGET
    ratio = rate_ratio(capture, turns, "low level", by_hand, FLOOR, GOAL, target)
    return [*speeds(capture, turns), ratio]
