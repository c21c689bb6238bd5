# SPDX-License-Identifier: Apache-2.0
"""DuckDB's sliding windows over packets that lie in Parquet already; started by a question.

Given the Parquet file, or a capture and where its Parquet file is to be written; prints a line of
JSON. Its best form is asked: seconds first, then a window function over them. That gives a group's
row only where it has packets in the window's last second, so that it has less to do than we.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent))

PANES = 60
QUERY = f"""
WITH panes AS (
    SELECT time AS second, srcIP, destIP, count(*) AS packets, sum(len) AS bytes
    FROM read_parquet('{{path}}') GROUP BY ALL
)
SELECT second, srcIP, destIP, sum(packets) OVER w AS packets, sum(bytes) OVER w AS bytes
FROM panes
WINDOW w AS (PARTITION BY srcIP, destIP ORDER BY second
             RANGE BETWEEN {PANES - 1} PRECEDING AND CURRENT ROW)
"""


def write_parquet(capture: str, path: str) -> None:
    """What the query reads of the packets."""
    import pyarrow.parquet

    import gigastream

    batches = gigastream.run("SELECT time, srcIP, destIP, len FROM IPV4", [capture])
    writer = None
    for batch in batches:
        writer = writer or pyarrow.parquet.ParquetWriter(path, batch.schema)
        writer.write_batch(batch)
    if writer is not None:
        writer.close()


def answer(path: str) -> dict[str, float]:
    """Seconds that it took to have all rows as Arrow, and how many."""
    import duckdb

    connection = duckdb.connect()
    connection.execute("SET threads = 1")
    start = time.perf_counter()
    table = connection.execute(QUERY.format(path=path)).to_arrow_table()
    return {"seconds": time.perf_counter() - start, "rows": table.num_rows}


def main() -> int:
    """Write the file, or answer over it."""
    if len(sys.argv) == 3:
        write_parquet(sys.argv[1], sys.argv[2])
        return 0
    print(json.dumps(answer(sys.argv[1])))
    return 0


if __name__ == "__main__":
    sys.exit(main())
