# SPDX-License-Identifier: Apache-2.0
"""What a second core is worth to a replay: two threads that divide a file, against one.

By the wall's clock, so that it says something only where two cores are free. What two cores are
worth on this machine two processes say that read a capture each: they share caches and memory, and
no work.
"""

from __future__ import annotations

from context import Bench, speeds, time_ratio
from measure import ours
from queries import TALKERS
from report import Figure
from workloads import REAL, Capture

from questions.sharing import queries_of

TITLE = "A replay by two threads / by one"
CAPTURES = (REAL, "uniform-66k", "uniform-260k", "uniform-520k", "zipf-260k")
FLOOR, GOAL = 1.7, 1.9
ONE, TWO, APART = "one thread", "two threads", "two processes, a capture each"


def ask(bench: Bench) -> list[Figure]:
    """Rates and their ratio on the large captures; on one of them of twenty queries, too."""
    figures = [f for capture in bench.captures(CAPTURES) for f in _ask(bench, capture, TALKERS)]
    twenty = ";\n".join(queries_of("half each"))
    for capture in bench.captures(CAPTURES[1:2]):
        figures += _ask(bench, capture, twenty, ", twenty queries")
    return figures


def _ask(bench: Bench, capture: Capture, text: str, what: str = "") -> list[Figure]:
    one, two, apart = ONE + what, TWO + what, APART + what
    contenders = {
        name: ours("whole_path", capture, text, jobs=jobs) for name, jobs in ((one, 1), (two, 2))
    }
    turns = bench.in_turn({**contenders, apart: ours("two_processes", capture, text)})
    ratio = time_ratio(capture, turns, one, two, FLOOR, GOAL, higher_is_better=True)
    most = time_ratio(capture, turns, one, apart, higher_is_better=True)
    return [*speeds(capture, turns), ratio, most]
