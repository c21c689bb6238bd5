# SPDX-License-Identifier: Apache-2.0
"""Tables of a daemon's sets: each window once, whatever is killed, changed or stopped."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pyarrow.dataset
import pytest

from gigastream.daemon.loader_messages import TableState
from gigastream.daemon.messages import AddSet, QuerySetSpec
from tests.daemon.links import send
from tests.daemon.resident import Daemon, end, started
from tests.live.namespace import Namespace

pytestmark = pytest.mark.privileged
COUNTS = """DEFINE { query_name counts; } PARAM { least uint 0; }
    SELECT second, count(*) AS n, sum(sequence_number) AS total
    FROM TCP WHERE data_length >= $least
    GROUP BY time_bucket('1 sec', timestamp) AS second"""
"""What a dataset needs: a timestamp."""


def spec_of(daemon: Daemon, *outputs: str, text: str = COUNTS, **more: Any) -> QuerySetSpec:
    """A set with a spool, and these outputs besides."""
    spool = f"spool:{daemon.folder}/out/spool"
    return QuerySetSpec(name="t", text=text, outputs=(spool, *outputs), **more)


def tables_in(folder: Path) -> tuple[str, str]:
    return f"duckdb:{folder}/out/rows.db", f"dataset:{folder}/out/lake"


def in_duckdb(folder: Path) -> list[tuple[int, int]]:
    """(n, total) of each window, in their order. Read beside a loader that has it open: a copy."""
    path = folder / "out" / "rows.db"
    with duckdb.connect(str(path), read_only=True) as connection:
        return connection.execute("SELECT n, total FROM counts ORDER BY second").fetchall()


def in_dataset(folder: Path) -> list[tuple[int, int]]:
    found = pyarrow.dataset.dataset(folder / "out" / "lake" / "counts", format="parquet")
    rows = found.to_table().sort_by("second").to_pylist()
    return [(row["n"], row["total"]) for row in rows]


def state(daemon: Daemon, kind: str) -> TableState:
    return next(each for each in daemon.status().tables if each.table.startswith(kind))


def test_it(space: Namespace, common_folder: Path) -> None:
    (common_folder / "config").write_text("")
    daemon = started(space, common_folder, "--tables")
    try:
        daemon.ask(AddSet(query_set=spec_of(daemon, *tables_in(common_folder))))
        for n in range(4):
            send(space, 1000, first=1000 * n, rate=1000)
            print(daemon.status().tables)
    finally:
        end(daemon)
        print(daemon.told())
    print(in_duckdb(common_folder))
    print(in_dataset(common_folder))
    assert 0
