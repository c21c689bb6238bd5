# SPDX-License-Identifier: Apache-2.0
"""What memory a replay needs, and whether it grows with the file.

The peak of RssAnon: memory that is the process's own, without the mapped capture; the interpreter
and Arrow are in it. The goal is 100 MB and the groups: two minutes of 260 thousand are some 50 MB.
"""

from __future__ import annotations

from context import Bench
from measure import RunError, peak_anonymous_bytes
from queries import TALKERS
from report import Figure
from workloads import Capture

TITLE = "Memory of a replay"
CAPTURES = ("quarter-260k", "uniform-260k", "real")
FLOOR_MB, GOAL_MB = 300.0, 150.0


def ask(bench: Bench) -> list[Figure]:
    """The peak for a capture, one four times as long over the same groups, and the real one."""
    return [_ask(capture) for capture in bench.captures(CAPTURES)]


def _ask(capture: Capture) -> Figure:
    try:
        peak_mb = peak_anonymous_bytes(capture, TALKERS) / 1e6
    except RunError as error:
        return _figure(capture, None, str(error))
    return _figure(capture, peak_mb, "")


def _figure(capture: Capture, peak_mb: float | None, note: str) -> Figure:
    return Figure(capture.name, "peak RssAnon", peak_mb, "MB", FLOOR_MB, GOAL_MB, False, note)
