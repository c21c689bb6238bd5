# SPDX-License-Identifier: Apache-2.0
"""What does it cost that windows overlap? Sixty panes against windows that tumble.

There are so few groups that all of them are in every second: either way the same number of rows
leaves. The rows are held to each other first: a minute's window is its sixty seconds. Beside them
DuckDB over the same packets in Parquet, if it is installed, in its best form: seconds first, then a
window function over them. That gives a group's row only where it has packets in the window's last
second, so that it has less to do than we.
"""

from __future__ import annotations

from context import Bench, speeds, time_ratio
from duckdb_peer import duckdb
from measure import ours, run_ours
from report import Figure
from workloads import Capture

TITLE = "Windows of 60 panes / windows that tumble with as many rows, by time; DuckDB / ours"
CAPTURES = ("half-an-hour",)
PANES = 60
SLIDING, TUMBLING, DUCKDB = f"{PANES} panes", "tumbling", "DuckDB over Parquet"
FLOOR, GOAL = 1.5, 1.2
DUCKDB_FLOOR = 1.0
DUCKDB_QUERY = f"""
WITH panes AS (
    SELECT time AS second, srcIP, destIP, count(*) AS packets, sum(len) AS bytes
    FROM read_parquet('{{path}}') GROUP BY ALL
)
SELECT second, srcIP, destIP, sum(packets) OVER w AS packets, sum(bytes) OVER w AS bytes
FROM panes
WINDOW w AS (PARTITION BY srcIP, destIP ORDER BY second
             RANGE BETWEEN {PANES - 1} PRECEDING AND CURRENT ROW)
"""


def _query(range_: int) -> str:
    return (
        "SELECT window_end, srcIP, destIP, count(*) AS packets, sum(len) AS bytes "
        f"FROM IPV4 [RANGE {range_} s, SLIDE 1 s, WA time] GROUP BY srcIP, destIP"
    )


def ask(bench: Bench) -> list[Figure]:
    """Rates, and the ratios of the times."""
    return [figure for capture in bench.captures(CAPTURES) for figure in _ask(bench, capture)]


def _ask(bench: Bench, capture: Capture) -> list[Figure]:
    agrees = float(_agrees(capture))
    turns = bench.in_turn(
        {
            SLIDING: ours("whole_path", capture, _query(PANES)),
            TUMBLING: ours("whole_path", capture, _query(1)),
            DUCKDB: duckdb(capture, DUCKDB_QUERY),
        }
    )
    return [
        *speeds(capture, turns),
        Figure(capture.name, "both agree", agrees, "", 1.0, is_answer=True),
        time_ratio(capture, turns, SLIDING, TUMBLING, FLOOR, GOAL),
        time_ratio(capture, turns, DUCKDB, SLIDING, DUCKDB_FLOOR, higher_is_better=True),
    ]


def _agrees(capture: Capture) -> bool:
    """Each packet is in sixty windows of the one, and in one of the other."""
    sliding = run_ours("talkers_answer", capture, _query(PANES))
    tumbling = run_ours("talkers_answer", capture, _query(1))
    counted = ("tuple_packets", "tuple_bytes")
    return all(sliding[name] == PANES * tumbling[name] for name in counted)
