# SPDX-License-Identifier: Apache-2.0
"""Sets with tables, and what is in these: numbered packets, of which each must be there once."""

from __future__ import annotations

import signal
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from os import kill
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.dataset

from gigastream.daemon.loader_messages import TableState
from gigastream.daemon.messages import AddSet, QuerySetSpec
from tests.daemon.links import send
from tests.daemon.resident import Daemon
from tests.waiting import wait_until

NUMBERS = """DEFINE { query_name numbers; } PARAM { least uint 0; fewest uint 0; }
    SELECT second, count(*) AS n, sum(sequence_number) AS total, min(sequence_number) AS first,
        max(sequence_number) AS last
    FROM TCP WHERE data_length >= $least
    GROUP BY time_bucket('1 sec', timestamp) AS second
    HAVING count(*) >= $fewest"""
"""`least` is a matter of the low level, `fewest` of the high one; no value of a test matters."""
COLUMNS = ("n", "total", "first", "last")
Rows = list[dict[str, int]]


@dataclass
class Filled:
    """A set `t` of a daemon, whose packets are numbered on."""

    daemon: Daemon
    sent: int = 0
    before: int = 0
    """Of them, that another daemon has read."""

    def add(self, *outputs: str, name: str = "t", **more: Any) -> None:
        """The set, with its spool and these besides."""
        spool = f"spool:{self.daemon.folder}/out/spool"
        spec = QuerySetSpec(name=name, text=NUMBERS, outputs=(spool, *outputs), **more)
        self.daemon.ask(AddSet(query_set=spec))

    def send(self, count: int = 2500) -> None:
        """Two windows, and a part of another."""
        self.sent += send(self.daemon.space, count, first=self.sent, rate=1000)
        wait_until(lambda: self._read() >= self.sent - self.before, "that all are read")

    def _read(self) -> int:
        return sum(source.read for source in self.daemon.status().sources)

    def state(self, kind: str = "duckdb") -> TableState | None:
        """Of the table of a kind."""
        tables = self.daemon.status().tables
        return next((each for each in tables if each.table.startswith(kind)), None)

    def wait(self, is_so: Callable[[TableState], bool], what: str, kind: str = "duckdb") -> None:
        """Until it is."""

        def is_it() -> bool:
            found = self.state(kind)
            return found is not None and is_so(found)

        wait_until(is_it, f"{kind}: {what}")

    def wait_for_rows(self, *kinds: str, more: int = 1) -> None:
        """Until there are more in the tables."""
        for kind in kinds:
            before = self.state(kind)
            rows = 0 if before is None else before.rows
            self.send()
            self.wait(lambda state: state.rows >= rows + more, "rows", kind)  # noqa: B023

    def kill_loader(self, kind: str) -> None:
        """SIGKILL, when it runs; then wait for the next."""
        self.wait(lambda state: state.state == "running", "running", kind)
        before = self.state(kind)
        assert before is not None
        assert before.pid is not None
        with suppress(ProcessLookupError):
            kill(before.pid, signal.SIGKILL)
        self.wait(lambda state: state.restarts > before.restarts, "a next loader", kind)
        self.wait(lambda state: state.state == "running", "running again", kind)


def places(folder: Path) -> tuple[str, str]:
    """A database and a folder of Parquet files."""
    return f"duckdb:{folder}/out/rows.db", f"dataset:{folder}/out/lake"


def in_duckdb(folder: Path) -> Rows:
    """All rows, by the first packet of each. No loader has the file open."""
    with duckdb.connect(str(folder / "out" / "rows.db"), read_only=True) as connection:
        found = connection.sql("FROM numbers").to_arrow_table()
    return in_order(found)


def in_dataset(folder: Path) -> Rows:
    """The same of a folder, whoever writes it."""
    files = pyarrow.dataset.dataset(folder / "out" / "lake" / "numbers", format="parquet")
    return in_order(files.to_table())


def in_order(table: pyarrow.Table) -> Rows:
    """Rows without their time, as the packets came."""
    rows = table.select(list(COLUMNS)).to_pylist()
    return sorted(rows, key=lambda row: row["first"])


def check_once(rows: Rows, least: int = 1) -> None:
    """No packet is missing, from the first one on, or in two rows; there are so many at least."""
    assert rows
    assert rows[0]["first"] == 0, rows
    for row in rows:
        assert row["n"] == row["last"] - row["first"] + 1, rows
        assert row["total"] == row["n"] * (row["first"] + row["last"]) // 2, rows
    ends = [row["last"] + 1 for row in rows]
    assert [row["first"] for row in rows[1:]] == ends[:-1], rows
    assert ends[-1] >= least, rows
