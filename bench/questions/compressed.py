# SPDX-License-Identifier: Apache-2.0
"""What a compressed capture costs, beside the tool that does nothing but decompress it.

On one core, so that neither has a second one for the half of its work; and what the same packets
cost from a pipe.
"""

from __future__ import annotations

import shutil

from context import Bench, rate_ratio, speeds
from measure import Contender, RunError, command, ours
from queries import TALKERS
from report import Figure
from workloads import COMPRESSIONS, Capture

TITLE = "A compressed capture, answered / decompressed by its own tool"
CAPTURE = "quarter-260k"
TOOLS = {"gz": "gzip", "zst": "zstd"}
FLOORS = {"gz": 1.0, "zst": 0.4}
GOALS = {"gz": 1.5, "zst": 0.6}


def ask(bench: Bench) -> list[Figure]:
    """Rates and ratios of both formats, and the rate of a pipe."""
    formats = [
        figure
        for kind in COMPRESSIONS
        for capture in bench.compressed(CAPTURE, kind)
        for figure in _ask(bench, capture, kind)
    ]
    return formats + [
        figure for capture in bench.captures((CAPTURE,)) for figure in _ask_pipe(bench, capture)
    ]


def _ask(bench: Bench, capture: Capture, kind: str) -> list[Figure]:
    tool = f"{TOOLS[kind]} -dc"
    contenders = {
        "whole path": ours("whole_path", capture, TALKERS),
        tool: _tool(bench, kind, capture),
    }
    turns = bench.in_turn(contenders)
    ratio = rate_ratio(capture, turns, "whole path", (tool,), FLOORS[kind], GOALS[kind])
    return [*speeds(capture, turns), ratio]


def _tool(bench: Bench, kind: str, capture: Capture) -> Contender:
    name = TOOLS[kind]
    if shutil.which(name) is None:
        return _not_installed
    return command([name, "-dc", str(capture.path)], capture, bench.time_limit_seconds)


def _not_installed() -> float:
    raise RunError("not installed")


def _ask_pipe(bench: Bench, capture: Capture) -> list[Figure]:
    file, pipe = "file", "pipe"
    turns = bench.in_turn(
        {file: ours("whole_path", capture, TALKERS), pipe: ours("piped", capture, TALKERS)}
    )
    return [*speeds(capture, turns), rate_ratio(capture, turns, pipe, (file,))]
