# SPDX-License-Identifier: Apache-2.0
"""DuckDB as a contender, over packets that lie in Parquet already.

It has them as columns and decodes nothing; it runs on one thread, as we do. Started by itself,
`PARQUET QUERY`, it answers with a line of JSON; `{path}` in the query is the file.
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


def duckdb(capture: Capture, query: str, clock: str = WALL) -> Contender:
    """A query that reads `{path}`, of time, srcIP, destIP and len."""
    return ParquetRun("duckdb", Path(__file__), capture, (query,), clock)


def _answer(path: str, query: str) -> dict[str, float]:
    """Seconds that it took to have all rows as Arrow, and how many."""
    import duckdb

    connection = duckdb.connect()
    connection.execute("SET threads = 1")
    start, processor = time.perf_counter(), time.process_time()
    table = connection.execute(query.format(path=path)).to_arrow_table()
    seconds = {WALL: time.perf_counter() - start, PROCESSOR: time.process_time() - processor}
    return {**seconds, "rows": table.num_rows}


if __name__ == "__main__":
    print(json.dumps(_answer(*sys.argv[1:])))
