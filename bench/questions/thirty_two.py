# SPDX-License-Identifier: Apache-2.0
"""Do queries share their work? 32 of differing predicates against one of them, over one capture.

Each takes about one packet in a hundred. The query without a predicate runs beside them, for
comparison.
"""

from __future__ import annotations

from context import Bench, speeds, time_ratio
from measure import ours
from queries import TALKERS, predicate_queries
from report import Figure
from workloads import Capture

TITLE = "32 queries / one of them, time"
CAPTURES = ("uniform-260k",)
FLOOR, GOAL = 6.0, 3.0


def ask(bench: Bench) -> list[Figure]:
    """Rates, and the ratio of the times."""
    return [figure for capture in bench.captures(CAPTURES) for figure in _ask(bench, capture)]


def _ask(bench: Bench, capture: Capture) -> list[Figure]:
    queries = predicate_queries()
    turns = bench.in_turn(
        {
            "1 query": ours("whole_path", capture, queries[0]),
            "32 queries": ours("whole_path", capture, ";\n".join(queries)),
            "1 without predicate": ours("whole_path", capture, TALKERS),
        }
    )
    return [
        *speeds(capture, turns),
        time_ratio(capture, turns, "32 queries", "1 query", FLOOR, GOAL),
    ]
