# SPDX-License-Identifier: Apache-2.0
"""DuckDB where there is no room: the cause is told, and what could not be made is not there."""

from __future__ import annotations

from os import mkfifo
from pathlib import Path

import pyarrow as pa
import pytest

pytest.importorskip("duckdb")

from gigastream.sinks import Key, SinkError, parse_sink_place
from tests.room import files_no_larger_than

SCHEMA = pa.schema([pa.field("n", pa.int64())])


def rows(count: int) -> pa.Table:
    step = 0x9E3779B97F4A7C15  # nothing that can be compressed
    return pa.table({"n": pa.array([i * step % 2**63 for i in range(count)], pa.int64())})


@pytest.mark.parametrize("size_bytes", [0, 1000, 9000])
def test_a_file_that_cannot_be_made_is_not_left(tmp_path: Path, size_bytes: int) -> None:
    place = parse_sink_place(f"duckdb:{tmp_path}/x.db")
    with (
        files_no_larger_than(size_bytes),
        pytest.raises(SinkError, match=r"x\.db: .*File too large"),
    ):
        place.open("rows", SCHEMA)
    table = place.open("rows", SCHEMA)
    assert table.write(rows(3), Key("w", 1))
    table.close()
    assert {path.name for path in tmp_path.iterdir()} <= {"x.db", "x.db.wal"}


def test_what_is_no_file_is_not_waited_for(tmp_path: Path) -> None:
    mkfifo(tmp_path / "x.db")
    with pytest.raises(SinkError, match=r"x\.db: it is no regular file"):
        parse_sink_place(f"duckdb:{tmp_path}/x.db").open("rows", SCHEMA)


@pytest.mark.parametrize("content", [b"", b"DUCK", b"a,b\n1,2\n", b'{"a": 1, "b": 2}\n' * 9])
def test_what_is_no_database_is_not_taken_for_one(tmp_path: Path, content: bytes) -> None:
    """Of csv and JSON DuckDB makes a database in memory, which is gone with the process."""
    path = tmp_path / "x.csv"
    path.write_bytes(content)
    with pytest.raises(SinkError, match=r"x\.csv: it is no DuckDB database"):
        parse_sink_place(f"duckdb:{path}").open("rows", SCHEMA)
    assert path.read_bytes() == content


def test_of_two_that_make_it_one_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both have looked, and nothing was there: the second opens what the first has made."""
    from gigastream.sinks import duckdb as sink

    path = tmp_path / "x.db"
    first = parse_sink_place(f"duckdb:{path}").open("rows", SCHEMA)
    first.write(rows(3), Key("w", 1))
    first.close()
    with monkeypatch.context() as before:
        before.setattr("os.path.lexists", lambda _: False)
        sink._make(path)
    again = parse_sink_place(f"duckdb:{path}").open("rows", SCHEMA)
    assert again.last("w") == 1
    again.close()


def test_why_a_commit_failed_is_told(tmp_path: Path) -> None:
    table = parse_sink_place(f"duckdb:{tmp_path}/x.db").open("rows", SCHEMA)
    with files_no_larger_than(0), pytest.raises(SinkError, match="File too large"):
        table.write(rows(3), Key("w", 1))
    table.close()
    again = parse_sink_place(f"duckdb:{tmp_path}/x.db").open("rows", SCHEMA)
    assert again.last("w") is None
    assert again.write(rows(3), Key("w", 1))
    again.close()
