# SPDX-License-Identifier: Apache-2.0
"""What does a regular expression cost? The same selection with one more condition.

The payloads of real traffic are asked; with an anchor, without one, and with one that a payload can
make long.
"""

from __future__ import annotations

from context import Bench, rate_ratio, speeds
from measure import ours
from report import Figure
from workloads import REAL, Capture

TITLE = "A regular expression over each payload / the search of a text"
CAPTURES = (REAL,)
FLOOR, GOAL = 0.5, 0.9
SELECTION = "SELECT time, len FROM TCP WHERE data_length > 0 AND {}"
TEXT = SELECTION.format("str_exists_substr[TCP_data, 'HTTP/1.']")
PATTERNS = {
    "anchored": "^(GET|POST|HTTP/1)",
    "anywhere": r"HTTP/1\.[01] [0-9]+",
    "long": r"(.*)(.*)[A-Za-z0-9]{8,}@[a-z]+\.(com|net|org)",
}


def ask(bench: Bench) -> list[Figure]:
    """Rates and their ratios."""
    return [figure for capture in bench.captures(CAPTURES) for figure in _ask(bench, capture)]


def _ask(bench: Bench, capture: Capture) -> list[Figure]:
    by_pattern = {
        name: ours("whole_path", capture, SELECTION.format(f"str_regex_match(TCP_data, '{text}')"))
        for name, text in PATTERNS.items()
    }
    turns = bench.in_turn({"text": ours("whole_path", capture, TEXT), **by_pattern})
    ratios = [rate_ratio(capture, turns, name, ["text"], FLOOR, GOAL) for name in PATTERNS]
    return [*speeds(capture, turns), *ratios]
