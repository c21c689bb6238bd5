# SPDX-License-Identifier: Apache-2.0
"""What a second core is worth to a replay of a compressed capture: parts against one stream.

By the wall's clock, with both cores: of one stream a core decompresses and the other answers.
"""

from __future__ import annotations

from compressed import compressed
from context import Bench, speeds, time_ratio
from measure import ours
from queries import TALKERS
from report import Figure

TITLE = "A compressed replay: as parts, side by side / as one stream, by rate"
CAPTURES = ("uniform-260k",)
FLOOR, GOAL = 1.1, 1.5
PAIRS = {"gzip": "bgzf", "zstd": "zstd-frames"}


def ask(bench: Bench) -> list[Figure]:
    """Rates of all forms, and what parts are worth of each compression."""
    figures = []
    for capture in bench.captures(CAPTURES):
        forms = [form for pair in PAIRS.items() for form in pair]
        contenders = {
            form: ours("whole_path", compressed(capture, form), TALKERS, jobs=2) for form in forms
        }
        turns = bench.in_turn({"plain": ours("whole_path", capture, TALKERS), **contenders})
        figures += speeds(capture, turns)
        figures += [
            time_ratio(capture, turns, whole, parts, FLOOR, GOAL, higher_is_better=True)
            for whole, parts in PAIRS.items()
        ]
    return figures
