# SPDX-License-Identifier: Apache-2.0
"""Polars as a contender for the bench's aggregation, over Parquet and on one thread.

Started by itself, with the file, it answers with a line of JSON.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent))

from measure import PROCESSOR, WALL, Contender
from parquet import ParquetRun
from workloads import Capture


def polars(capture: Capture) -> Contender:
    """Count and bytes by minute, source and destination."""
    return ParquetRun("polars", Path(__file__), capture)


def _answer(path: str) -> dict[str, float]:
    """Seconds that it took to have all rows as Arrow, and how many."""
    import polars as pl

    start, processor = time.perf_counter(), time.process_time()
    keys = [(pl.col("time") // 60).alias("tb"), "srcIP", "destIP"]
    totals = [pl.len().alias("packets"), pl.col("len").cast(pl.UInt64).sum().alias("bytes")]
    table = pl.scan_parquet(path).group_by(keys).agg(totals).collect().to_arrow()
    seconds = {WALL: time.perf_counter() - start, PROCESSOR: time.process_time() - processor}
    return {**seconds, "rows": table.num_rows}


if __name__ == "__main__":
    print(json.dumps(_answer(*sys.argv[1:])))
