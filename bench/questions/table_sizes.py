# SPDX-License-Identifier: Apache-2.0
"""Whether the size of the low-level table matters on real traffic.

It should not: a flush that costs what is occupied makes a table that is too large harmless, and a
group that was evicted is completed above.
"""

from __future__ import annotations

from context import Bench, speeds
from measure import Contender, Turns, loop, ours
from queries import TALKERS, with_slots
from report import Figure
from workloads import REAL, Capture

TITLE = "Tables of 2^16 to 2^20 slots on real traffic: slowest / fastest"
SIZES_LOG2 = range(16, 21)
FLOOR, GOAL = 0.7, 0.95


def ask(bench: Bench) -> list[Figure]:
    """Rates by size for the whole path and the reference loop, and slowest over fastest of each."""
    captures = bench.captures([REAL])
    if not captures:
        return [Figure(REAL, "whole path", None, "Mpacket/s", note="no real captures here")]
    return [figure for capture in captures for figure in _ask(bench, capture)]


def _ask(bench: Bench, capture: Capture) -> list[Figure]:
    turns = bench.in_turn({**_ours(capture), **_loops(capture)})
    by_hand = _spread(capture, turns, "reference", list(_loops(capture)))
    return [*speeds(capture, turns), by_hand, _judged(capture, turns)]


def _ours(capture: Capture) -> dict[str, Contender]:
    return {
        f"whole path 2^{size}": ours("whole_path", capture, with_slots(TALKERS, size))
        for size in SIZES_LOG2
    }


def _loops(capture: Capture) -> dict[str, Contender]:
    return {
        f"reference 2^{size}": loop("reference", capture, size, "--read") for size in SIZES_LOG2
    }


def _judged(capture: Capture, turns: Turns) -> Figure:
    return _spread(capture, turns, "whole path", list(_ours(capture)), FLOOR, GOAL)


def _spread(
    capture: Capture,
    turns: Turns,
    who: str,
    names: list[str],
    floor: float | None = None,
    goal: float | None = None,
) -> Figure:
    what = f"{who}: slowest / fastest"
    if any(name in turns.failures for name in names):
        return Figure(capture.name, what, None, "times", floor, goal)
    times_ns = [turns.timings[name].median_ns for name in names]
    return Figure(capture.name, what, min(times_ns) / max(times_ns), "times", floor, goal)
