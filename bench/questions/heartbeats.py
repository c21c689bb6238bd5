# SPDX-License-Identifier: Apache-2.0
"""What do heartbeats cost? One each second of capture time against none, in instructions.

A difference of a thousandth drowns in any clock, so instructions are counted: by perf where the
machine has counters, else by callgrind. What the interpreter needs for itself is taken off by
running over a capture of one packet. The capture has as many packets a second as the large ones.
"""

from __future__ import annotations

import json
import sys

from build import HERE
from context import Bench
from instructions import counter
from measure import RunError
from queries import TALKERS
from report import Figure
from workloads import Capture

TITLE = "Heartbeats each second / none, instructions"
FLOOR_PERCENT, GOAL_PERCENT = 0.5, 0.1
WHAT, UNIT = "more instructions with heartbeats", "%"
NO_HEARTBEATS = {"heartbeat_ns": 0}
HEARTBEATS = {"heartbeat_ns": 1_000_000_000}


def ask(bench: Bench) -> list[Figure]:
    """The one ratio, or why there is none."""
    captures = bench.captures(["one-minute", "one-packet"])
    try:
        with_them, without, nothing = _count_all(captures[0], captures[1])
    except RunError as error:
        return [_figure(captures[0], None, str(error))]
    if without <= nothing:
        return [_figure(captures[0], None, "no more instructions than for one packet")]
    return [_figure(captures[0], 100 * (with_them - without) / (without - nothing), "")]


def _figure(capture: Capture, percent: float | None, note: str) -> Figure:
    return Figure(capture.name, WHAT, percent, UNIT, FLOOR_PERCENT, GOAL_PERCENT, False, note)


def _count_all(capture: Capture, one_packet: Capture) -> tuple[int, int, int]:
    _, count = counter()
    command = (sys.executable, str(HERE / "ours.py"))
    requests = (capture, HEARTBEATS), (capture, NO_HEARTBEATS), (one_packet, NO_HEARTBEATS)
    with_them, without, nothing = (count(command, _request(*request)) for request in requests)
    return with_them, without, nothing


def _request(capture: Capture, settings: dict[str, int]) -> str:
    request = {"function": "whole_path", "path": str(capture.path), "query": TALKERS}
    return json.dumps({**request, "settings": settings})
