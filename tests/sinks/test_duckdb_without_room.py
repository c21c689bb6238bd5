# SPDX-License-Identifier: Apache-2.0
"""DuckDB where there is no room: the cause is told, and what could not be made is not there."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pytest

pytest.importorskip("duckdb")

from gigastream.sinks import Key, SinkError, parse_sink_place

SCHEMA = pa.schema([pa.field("n", pa.int64())])


@contextmanager
def room(size_bytes: int) -> Iterator[None]:
    """Let no file grow beyond so much."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def rows(count: int) -> pa.Table:
    step = 0x9E3779B97F4A7C15  # nothing that can be compressed
    return pa.table({"n": pa.array([i * step % 2**63 for i in range(count)], pa.int64())})


@pytest.mark.parametrize("size_bytes", [0, 1000, 9000])
def test_a_file_that_cannot_be_made_is_not_left(tmp_path: Path, size_bytes: int) -> None:
    place = parse_sink_place(f"duckdb:{tmp_path}/x.db")
    with room(size_bytes), pytest.raises(SinkError, match=r"x\.db: .*File too large"):
        place.open("rows", SCHEMA)
    table = place.open("rows", SCHEMA)
    assert table.write(rows(3), Key("w", 1))
    table.close()
    assert {path.name for path in tmp_path.iterdir()} <= {"x.db", "x.db.wal"}


def test_why_a_commit_failed_is_told(tmp_path: Path) -> None:
    table = parse_sink_place(f"duckdb:{tmp_path}/x.db").open("rows", SCHEMA)
    with room(0), pytest.raises(SinkError, match="File too large"):
        table.write(rows(3), Key("w", 1))
    table.close()
    again = parse_sink_place(f"duckdb:{tmp_path}/x.db").open("rows", SCHEMA)
    assert again.last("w") is None
    assert again.write(rows(3), Key("w", 1))
    again.close()
