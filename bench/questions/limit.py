# SPDX-License-Identifier: Apache-2.0
"""How fast can it be done by hand? The loops alone, from walking the file to exact rows."""

from __future__ import annotations

from context import Bench, speeds
from measure import Contender, loop, loops
from report import Figure
from workloads import Capture

TITLE = "The limit: loops written by hand, one thread"
CAPTURES = ("uniform-66k", "uniform-260k", "uniform-520k", "zipf-260k", "mixed-260k", "real")
LOOPS = ("walk", "parse", "direct", "reference", "duties", "exact", "exact_bursts")


def ask(bench: Bench) -> list[Figure]:
    """The rate of every loop on every capture."""
    figures: list[Figure] = []
    for capture in bench.captures(CAPTURES):
        figures += speeds(capture, bench.in_turn(_contenders(capture)))
    return figures


def _contenders(capture: Capture) -> dict[str, Contender]:
    return {
        **loops(capture, *LOOPS),
        "reference 2^20": loop("reference", capture, 20),
        "reference 2^20, read": loop("reference", capture, 20, "--read"),
        "libpcap": loop("libpcap", capture),
    }
