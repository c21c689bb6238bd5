# SPDX-License-Identifier: Apache-2.0
"""Do many queries thrash each other's tables? Twenty of 66,000 groups each, by how many slots.

They begin with a share of the slots that one would have, and grow. Beside them the tables that they
would have if nothing grew, and tables that are large from the start.
"""

from __future__ import annotations

from context import Bench, speeds, time_ratio
from measure import ours
from report import Figure
from workloads import Capture

TITLE = "Twenty queries of 66,000 groups: time with tables that grow / with tables that are large"
CAPTURES = ("uniform-66k",)
QUERIES = 20
SHARE_LOG2, LARGE_LOG2 = 15, 18
FLOOR, GOAL = 1.5, 1.2


def ask(bench: Bench) -> list[Figure]:
    """Rates, and the ratios of the times."""
    return [figure for capture in bench.captures(CAPTURES) for figure in _ask(bench, capture)]


def _ask(bench: Bench, capture: Capture) -> list[Figure]:
    turns = bench.in_turn(
        {
            "a share of 2^19 slots": ours("whole_path", capture, _queries(), slots=1 << SHARE_LOG2),
            "tables that grow": ours("whole_path", capture, _queries()),
            "2^18 slots": ours("whole_path", capture, _queries(), slots=1 << LARGE_LOG2),
        }
    )
    return [
        *speeds(capture, turns),
        time_ratio(capture, turns, "a share of 2^19 slots", "2^18 slots"),
        time_ratio(capture, turns, "tables that grow", "2^18 slots", FLOOR, GOAL),
    ]


def _queries() -> str:
    """No two have the same table: the aggregates differ."""
    return ";\n".join(
        f"DEFINE {{ query_name q{n}; }} SELECT tb, srcIP, destIP, count(*) AS packets, "
        f"sum(len + {n}) AS bytes FROM IPV4 GROUP BY time/60 AS tb, srcIP, destIP"
        for n in range(QUERIES)
    )
