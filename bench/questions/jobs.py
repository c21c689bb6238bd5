# SPDX-License-Identifier: Apache-2.0
"""What a second core is worth to a replay: two threads that divide a file, against one.

By the wall's clock, so that it says something only where two cores are free.
"""

from __future__ import annotations

from context import Bench, speeds, time_ratio
from measure import ours
from queries import TALKERS
from report import Figure
from workloads import REAL, Capture

TITLE = "A replay by two threads / by one"
CAPTURES = (REAL, "uniform-66k", "uniform-260k", "uniform-520k", "zipf-260k")
FLOOR, GOAL = 1.7, 1.9
ONE, TWO = "one thread", "two threads"


def ask(bench: Bench) -> list[Figure]:
    """Rates and their ratio on the large captures."""
    return [figure for capture in bench.captures(CAPTURES) for figure in _ask(bench, capture)]


def _ask(bench: Bench, capture: Capture) -> list[Figure]:
    by_jobs = {
        name: ours("whole_path", capture, TALKERS, jobs=jobs) for name, jobs in ((ONE, 1), (TWO, 2))
    }
    turns = bench.in_turn(by_jobs)
    ratio = time_ratio(capture, turns, ONE, TWO, FLOOR, GOAL, higher_is_better=True)
    return [*speeds(capture, turns), ratio]
