# SPDX-License-Identifier: Apache-2.0
"""DuckDB as a contender, over packets that lie in Parquet already.

It has them as columns and decodes nothing; it runs on one thread, as we do. Started by itself,
`PARQUET QUERY`, it answers with a line of JSON; `{path}` in the query is the file.
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import time
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent))

from measure import PROCESSOR, WALL, Contender, RunError
from workloads import Capture


def duckdb(capture: Capture, query: str, clock: str = WALL) -> Contender:
    """A query that reads `{path}`, of time, srcIP, destIP and len."""
    path = capture.path.with_suffix(".parquet")

    def run() -> float:
        if importlib.util.find_spec("duckdb") is None:
            raise RunError("DuckDB is not installed")
        if not path.exists():
            _write_parquet(capture.path, path)
        return 1e9 * float(_answered(path, query)[clock]) / capture.packets

    return run


def _answered(path: Path, query: str) -> dict[str, float]:
    command = [sys.executable, __file__, str(path), query]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RunError((done.stderr.strip().splitlines() or ["no message"])[-1])
    return dict(json.loads(done.stdout))


def _write_parquet(capture: Path, path: Path) -> None:
    import pyarrow.parquet

    import gigastream

    partial = path.with_suffix(".partial")
    writer = None
    for batch in gigastream.run("SELECT time, srcIP, destIP, len FROM IPV4", [str(capture)]):
        writer = writer or pyarrow.parquet.ParquetWriter(partial, batch.schema)
        writer.write_batch(batch)
    if writer is not None:
        writer.close()
        partial.replace(path)


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
