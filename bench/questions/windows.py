# SPDX-License-Identifier: Apache-2.0
"""What does it cost that windows overlap? Sixty panes against windows that tumble.

There are so few groups that all of them are in every second: either way the same number of rows
leaves. The rows are held to each other first: a minute's window is its sixty seconds. Beside them
DuckDB over the same packets in Parquet, if it is installed.
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

from build import HERE
from context import Bench, speeds
from measure import Contender, RunError, Turns, ours, run_ours
from report import Figure
from workloads import Capture

TITLE = "Windows of 60 panes / windows that tumble with as many rows, by time; DuckDB / ours"
CAPTURES = ("half-an-hour",)
PANES = 60
SLIDING, TUMBLING, DUCKDB = f"{PANES} panes", "tumbling", "DuckDB over Parquet"
FLOOR, GOAL = 1.5, 1.2
DUCKDB_FLOOR = 1.0
SCRIPT = HERE / "duckdb_windows.py"


def _query(range_: int) -> str:
    return (
        "SELECT window_end, srcIP, destIP, count(*) AS packets, sum(len) AS bytes "
        f"FROM IPV4 [RANGE {range_} s, SLIDE 1 s, WA time] GROUP BY srcIP, destIP"
    )


def ask(bench: Bench) -> list[Figure]:
    """Rates, and the ratios of the times."""
    return [figure for capture in bench.captures(CAPTURES) for figure in _ask(bench, capture)]


def _ask(bench: Bench, capture: Capture) -> list[Figure]:
    agrees = _agrees(capture)
    turns = bench.in_turn(
        {
            SLIDING: ours("whole_path", capture, _query(PANES)),
            TUMBLING: ours("whole_path", capture, _query(1)),
            DUCKDB: _duckdb(capture),
        }
    )
    return [
        *speeds(capture, turns),
        Figure(capture.name, "packets and bytes of both agree", float(agrees), "", 1.0),
        Figure(
            *(capture.name, f"{SLIDING} / {TUMBLING}", _ratio(turns, SLIDING, TUMBLING), "times"),
            *(FLOOR, GOAL, False),
        ),
        Figure(
            *(capture.name, f"{DUCKDB} / {SLIDING}", _ratio(turns, DUCKDB, SLIDING), "times"),
            DUCKDB_FLOOR,
            note=turns.failures.get(DUCKDB, ""),
        ),
    ]


def _ratio(turns: Turns, one: str, other: str) -> float | None:
    if turns.failures.keys() & {one, other}:
        return None
    return turns.timings[one].median_ns / turns.timings[other].median_ns


def _agrees(capture: Capture) -> bool:
    """Each packet is in sixty windows of the one, and in one of the other."""
    sliding = run_ours("talkers_answer", capture, _query(PANES))
    tumbling = run_ours("talkers_answer", capture, _query(1))
    counted = ("tuple_packets", "tuple_bytes")
    return all(sliding[name] == PANES * tumbling[name] for name in counted)


def _duckdb(capture: Capture) -> Contender:
    path = capture.path.with_suffix(".parquet")

    def run() -> float:
        if importlib.util.find_spec("duckdb") is None:
            raise RunError("DuckDB is not installed")
        if not path.exists():
            _call(str(capture.path), str(path))
        return 1e9 * float(json.loads(_call(str(path)))["seconds"]) / capture.packets

    return run


def _call(*words: str | Path) -> str:
    command = [sys.executable, str(SCRIPT), *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RunError((done.stderr.strip().splitlines() or ["no message"])[-1])
    return done.stdout
