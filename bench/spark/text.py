# SPDX-License-Identifier: Apache-2.0
"""What it costs that addresses are text in results: INET columns, with text and without."""

from __future__ import annotations

from pathlib import Path
from statistics import median

from jobs import from_spool, seconds_of, session
from made import Shape, question, write_spool
from report import Figure
from throughput import SHAPES

from spark_sink.results import in_result_types

TITLE = "Addresses of both families as text"


def ask(folder: Path, rows: int, runs: int) -> list[Figure]:
    """The figures."""
    return [f for name, groups in SHAPES.items() for f in _ask(folder, name, rows, groups, runs)]


def _ask(folder: Path, name: str, rows: int, groups: int, runs: int) -> list[Figure]:
    spool, asked, spark = folder / f"inet-{rows}-{groups}", question("IP"), session()
    if not spool.exists():
        write_spool(spool, Shape(rows, groups), asked=asked)
    inside = from_spool(spark, spool, plan=asked.plan)
    ways = {"bytes": inside, "text": in_result_types(inside, asked.plan.outputs[0].schema)}
    taken: dict[str, list[float]] = {way: [] for way in ways}
    for run in range(runs + 1):
        for way, frame in ways.items():
            found, _ = seconds_of(frame)
            if run > 0:  # the first warms Java up
                taken[way].append(found)
    times = {way: median(each) for way, each in taken.items()}
    rates = [Figure(name, way, rows / each / 1e6, "Mrow/s") for way, each in times.items()]
    cost = times["text"] / times["bytes"]
    return [*rates, Figure(name, "text / bytes", cost, "times", 1.2, 1.0, higher_is_better=False)]
