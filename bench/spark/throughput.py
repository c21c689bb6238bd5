# SPDX-License-Identifier: Apache-2.0
"""Rows per second through the aggregation: a spool beside the same rows as Parquet."""

from __future__ import annotations

from pathlib import Path
from statistics import median

from jobs import from_parquet, from_spool, seconds_of, session, write_parquet
from made import Shape, write_spool
from report import Figure

TITLE = "From the source through the aggregation's output"
SHAPES = {"50k groups": 50_000, "500k groups": 500_000}


def ask(folder: Path, rows: int, runs: int) -> list[Figure]:
    """The figures."""
    return [f for name, groups in SHAPES.items() for f in _ask(folder, name, rows, groups, runs)]


def _ask(folder: Path, name: str, rows: int, groups: int, runs: int) -> list[Figure]:
    spool, parquet = folder / f"spool-{rows}-{groups}", folder / f"parquet-{rows}-{groups}"
    shape, spark = Shape(rows, groups), session()
    if not spool.exists():
        write_spool(spool, shape)
    if not parquet.exists():
        write_parquet(spark, spool, parquet, max(2, rows // shape.segment_rows))
    ours, theirs = [], []
    for run in range(runs + 1):
        a, b = seconds_of(from_spool(spark, spool)), seconds_of(from_parquet(spark, parquet))
        assert a[1] == b[1], "the two do not give the same rows"
        if run > 0:  # the first warms Java up
            ours.append(a[0])
            theirs.append(b[0])
    return [
        Figure(name, "spool", rows / median(ours) / 1e6, "Mrow/s"),
        Figure(name, "Parquet", rows / median(theirs) / 1e6, "Mrow/s"),
        Figure(name, "spool / Parquet", median(theirs) / median(ours), "times", 0.8, 1.0),
    ]
