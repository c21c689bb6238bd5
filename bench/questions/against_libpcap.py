# SPDX-License-Identifier: Apache-2.0
"""What one would have written on libpcap, against the whole path.

Both levels, exact, against libpcap's loop with the same direct-mapped table in its callback, which
leaves partial tuples.
"""

from __future__ import annotations

from context import Bench, rate_ratio, speeds
from measure import loop, ours
from queries import TALKERS
from report import Figure
from workloads import Capture

TITLE = "Whole path / libpcap loop with the same aggregation"
CAPTURES = ("uniform-66k", "uniform-260k", "uniform-520k", "zipf-260k", "mixed-260k", "real")
FLOOR = 1.0


def ask(bench: Bench) -> list[Figure]:
    """Rates and their ratio on every capture."""
    return [figure for capture in bench.captures(CAPTURES) for figure in _ask(bench, capture)]


def _ask(bench: Bench, capture: Capture) -> list[Figure]:
    contenders = {
        "whole path": ours("whole_path", capture, TALKERS),
        "libpcap": loop("libpcap", capture),
    }
    turns = bench.in_turn(contenders)
    ratio = rate_ratio(capture, turns, "whole path", ("libpcap",), FLOOR)
    return [*speeds(capture, turns), ratio]
