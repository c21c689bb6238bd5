# SPDX-License-Identifier: Apache-2.0
"""What is near the answer against what is exact, minute by minute, and against DuckDB's sketches.

By the processor's time. An exact quantile we have none of: beside it stands a plain average, and
DuckDB's exact quantile.
"""

from __future__ import annotations

from dataclasses import dataclass

from context import Bench, speeds, time_ratio
from duckdb_peer import duckdb
from measure import PROCESSOR, Contender, ours, run_ours
from report import Figure
from workloads import Capture

TITLE = "Sketches / exact aggregates, by time; DuckDB's sketches over Parquet / ours"
CAPTURES = ("uniform-260k", "zipf-260k")
GOAL, DUCKDB_FLOOR = 1.0, 0.5
"""DuckDB has its values as columns already: half its rate is to be reached."""
OVER_A_PLAIN_AVERAGE = 3.0
MOST_ERROR = 0.05


@dataclass(frozen=True)
class Contest:
    """A sketch and what is exact beside it, ours and DuckDB's: names, and queries."""

    sketch: str
    exact: str
    exact_query: str
    duckdb_sketch: str
    duckdb_exact: str
    duckdb_exact_query: str
    floor: float = 1.5


def _query(aggregate: str) -> str:
    return f"SELECT tb, {aggregate} AS value FROM IPV4 GROUP BY time/60 AS tb"


def _duckdb_query(aggregate: str) -> str:
    return (
        f"SELECT time // 60 AS tb, {aggregate} AS value FROM read_parquet('{{path}}') GROUP BY tb"
    )


def _of_aggregates(
    sketch: str, exact: str, duckdb_sketch: str, duckdb_exact: str, floor: float = 1.5
) -> Contest:
    exact_queries = (_query(exact), duckdb_sketch, duckdb_exact, _duckdb_query(duckdb_exact))
    return Contest(sketch, exact, *exact_queries, floor)


DISTINCT = _of_aggregates(
    *("approx_count_distinct(srcIP)", "count(DISTINCT srcIP)"),
    *("approx_count_distinct(srcIP)", "count(DISTINCT srcIP)"),
)
QUANTILE = _of_aggregates(
    *("quantile_of(len, 0.9)", "avg(len)"),
    *("approx_quantile(len, 0.9)", "quantile_disc(len, 0.9)"),
    floor=OVER_A_PLAIN_AVERAGE,
)
HITTERS = Contest(
    sketch="heavy_hitters(srcIP, 10)",
    exact="the first ten",
    exact_query="SELECT tb, srcIP, count(*) AS packets FROM IPV4 GROUP BY time/60 AS tb, srcIP "
    "ORDER BY packets DESC LIMIT 10",
    duckdb_sketch="approx_top_k(srcIP, 10)",
    duckdb_exact="the first ten",
    duckdb_exact_query="SELECT time // 60 AS tb, srcIP, count(*) AS packets "
    "FROM read_parquet('{path}') GROUP BY time // 60, srcIP "
    "QUALIFY row_number() OVER (PARTITION BY tb ORDER BY packets DESC) <= 10",
)


def ask(bench: Bench) -> list[Figure]:
    """Rates, the ratios of the times, and how far the count is from the exact one."""
    return [figure for capture in bench.captures(CAPTURES) for figure in _ask(bench, capture)]


def _ask(bench: Bench, capture: Capture) -> list[Figure]:
    figures = [
        figure
        for contest in (DISTINCT, QUANTILE, HITTERS)
        for figure in _compare(bench, capture, contest)
    ]
    near, exact = (
        run_ours("total", capture, _query(aggregate))["total"]
        for aggregate in (DISTINCT.sketch, DISTINCT.exact)
    )
    what = f"{DISTINCT.sketch}: from exact"
    return [
        *figures,
        Figure(capture.name, what, abs(near / exact - 1), "", MOST_ERROR, None, False),
    ]


def _compare(bench: Bench, capture: Capture, contest: Contest) -> list[Figure]:
    peer, exact_peer = (f"DuckDB {name}" for name in (contest.duckdb_sketch, contest.duckdb_exact))
    turns = bench.in_turn(
        {
            contest.sketch: _ours(capture, _query(contest.sketch)),
            contest.exact: _ours(capture, contest.exact_query),
            peer: duckdb(capture, _duckdb_query(contest.duckdb_sketch), PROCESSOR),
            exact_peer: duckdb(capture, contest.duckdb_exact_query, PROCESSOR),
        }
    )
    return [
        *speeds(capture, turns),
        time_ratio(capture, turns, contest.sketch, contest.exact, contest.floor, GOAL),
        time_ratio(capture, turns, peer, contest.sketch, DUCKDB_FLOOR, higher_is_better=True),
    ]


def _ours(capture: Capture, query: str) -> Contender:
    return ours("whole_path", capture, query, clock=PROCESSOR)
