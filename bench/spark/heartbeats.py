# SPDX-License-Identifier: Apache-2.0
"""What heartbeats cost: the same rows with one a minute and with one each second."""

from __future__ import annotations

from pathlib import Path
from statistics import median

from jobs import from_spool, seconds_of, session
from made import Shape, write_spool
from report import Figure

TITLE = "Heartbeats: 60 a minute against one"
GROUPS = 50_000


def ask(folder: Path, rows: int, runs: int) -> list[Figure]:
    """The figures."""
    spark, seconds = session(), {1: [], 60: []}
    for beats in seconds:
        if not (folder / f"beats-{rows}-{beats}").exists():
            write_spool(folder / f"beats-{rows}-{beats}", Shape(rows, GROUPS), beats)
    for run in range(runs + 1):
        for beats, taken in seconds.items():
            found, _ = seconds_of(from_spool(spark, folder / f"beats-{rows}-{beats}"))
            if run > 0:
                taken.append(found)
    few, many = median(seconds[1]), median(seconds[60])
    return [
        Figure("50k groups", "one a minute", rows / few / 1e6, "Mrow/s"),
        Figure("50k groups", "60 a minute", rows / many / 1e6, "Mrow/s"),
        Figure("50k groups", "cost", (many / few - 1) * 100, "%"),
    ]
