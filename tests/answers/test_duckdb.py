# SPDX-License-Identifier: Apache-2.0
"""Aggregates that have DuckDB's names give DuckDB's values, over the packets in their order."""

from __future__ import annotations

from typing import Any

import duckdb
import pyarrow
import pytest
from captures import DEMO_CAPTURE

import gigastream
from gigastream.settings import Settings
from tests.answers.engine import plan_of, source
from tests.answers.paths import on_every_path, opened

NULLABLE = "CASE WHEN len > 100 THEN len % 7 END"
PACKETS = f"""
SELECT time/60 AS tb, timestamp, packet_id, srcPort, destPort, len, protocol, {NULLABLE} AS v
FROM DataProtocol
"""
CALLS = (
    "count(*) FILTER (WHERE len > 500)",
    "sum(len) FILTER (WHERE {v} > 3)",
    "max(len) FILTER (WHERE {v} IS NULL)",
    "avg(len) FILTER (WHERE len > 100 AND len < 1000)",
    "count(DISTINCT srcPort)",
    "count(DISTINCT {v})",
    "count(DISTINCT destPort) FILTER (WHERE {v} < 2)",
    "sum(DISTINCT len)",
    "avg(DISTINCT {v})",
    "any_value({v})",
    "arg_max(srcPort, len)",
    "arg_min(srcPort, len)",
    "arg_max(len, {v})",
    "arg_min({v}, len)",
    "arg_max(srcPort, len) FILTER (WHERE {v} = 2)",
)


KEPT = (
    ("string_agg(srcPort, ',')", "string_agg(srcPort, ',' ORDER BY timestamp, packet_id)"),
    ("CAT_aggr(' ', len)", "string_agg(len, ' ' ORDER BY timestamp, packet_id)"),
    ("array_agg(destPort)", "array_agg(destPort ORDER BY timestamp, packet_id)::VARCHAR"),
    (
        "array_agg({v}) FILTER (WHERE len < 300)",
        "array_agg(v ORDER BY timestamp, packet_id)"
        " FILTER (WHERE len < 300 AND v IS NOT NULL)::VARCHAR",
    ),
    (
        "histogram(destPort)",
        "(SELECT string_agg(e.key || '=' || e.value, ', ' ORDER BY e.value DESC, e.key::VARCHAR)"
        " FROM (SELECT unnest(map_entries(histogram(destPort))) AS e))",
    ),
)
"""Ours, and the same in DuckDB, of groups whose texts are not cut."""


def _ours(query: str) -> list[tuple[Any, ...]]:
    """The rows, which are the same on every path."""
    first, *others = (_by(query, settings) for settings in on_every_path(Settings()))
    assert all(rows == first for rows in others)
    return first


def _by(query: str, settings: Settings) -> list[tuple[Any, ...]]:
    with opened(plan_of(query), [source(DEMO_CAPTURE)], settings) as session:
        rows = [
            row.values()
            for event in session.batches()
            for row in event.batch.to_arrow().to_pylist()
        ]
    return _sorted([tuple(map(_as_text, row)) for row in rows])


def _as_text(value: Any) -> Any:
    return value.decode() if isinstance(value, bytes) else value


def _sorted(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return sorted(rows, key=lambda row: tuple((value is None, value or 0) for value in row))


@pytest.fixture(scope="module")
def connection() -> duckdb.DuckDBPyConnection:
    """A table of the packets in their order, which one thread reads in that order."""
    found = duckdb.connect(config={"threads": 1})
    batches = pyarrow.Table.from_batches(list(gigastream.run(PACKETS, DEMO_CAPTURE)))
    found.register("batches", batches)
    found.execute("CREATE TABLE packets AS SELECT * FROM batches ORDER BY timestamp, packet_id")
    return found


def test_aggregates(connection: duckdb.DuckDBPyConnection) -> None:
    items = ", ".join(f"{call} AS a{at}" for at, call in enumerate(CALLS))
    ours = _ours(
        f"SELECT tb, protocol, {items.format(v=NULLABLE)}"
        " FROM DataProtocol GROUP BY time/60 AS tb, protocol"
    )
    theirs = connection.execute(
        f"SELECT tb, protocol, {items.format(v='v')} FROM packets GROUP BY tb, protocol"
    )
    assert len(ours) > 4
    for mine, its in zip(ours, _sorted(theirs.fetchall()), strict=True):
        assert mine == pytest.approx(its)


def test_the_first_of_each_group(connection: duckdb.DuckDBPyConnection) -> None:
    ours = _ours(
        "SELECT tb, protocol, srcPort, sum(len) AS bytes FROM DataProtocol"
        " GROUP BY time/60 AS tb, protocol, srcPort ORDER BY bytes DESC LIMIT 2 PER protocol"
    )
    theirs = connection.execute(
        "SELECT * FROM (SELECT tb, protocol, srcPort, sum(len) AS bytes FROM packets GROUP BY ALL)"
        " QUALIFY row_number() OVER (PARTITION BY tb, protocol ORDER BY bytes DESC, srcPort) <= 2"
    )
    assert len(ours) > 4
    assert ours == _sorted(theirs.fetchall())


def test_values_one_by_one(connection: duckdb.DuckDBPyConnection) -> None:
    items = ", ".join(f"{ours} AS a{at}" for at, (ours, _) in enumerate(KEPT))
    ours = _ours(
        f"SELECT tb, srcPort, {items.format(v=NULLABLE)}"
        " FROM DataProtocol GROUP BY time/60 AS tb, srcPort"
    )
    theirs = connection.execute(
        f"SELECT tb, srcPort, {', '.join(their for _, their in KEPT)}"
        " FROM packets GROUP BY tb, srcPort"
    )
    assert len(ours) > 4
    assert not any("more" in text for row in ours for text in row[2:] if text)
    assert ours == _sorted(theirs.fetchall())


def test_runs_and_modes(connection: duckdb.DuckDBPyConnection) -> None:
    ours = _ours(
        "SELECT tb, protocol, count_diff(srcPort) AS runs, mode(len) AS most"
        " FROM DataProtocol GROUP BY time/60 AS tb, protocol"
    )
    theirs = connection.execute(
        "WITH runs AS (SELECT tb, protocol, srcPort IS DISTINCT FROM lag(srcPort) OVER"
        " (PARTITION BY tb, protocol ORDER BY timestamp, packet_id) AS turns FROM packets),"
        " counts AS (SELECT tb, protocol, len, count(*) AS n FROM packets GROUP BY ALL)"
        " SELECT tb, protocol, count(*) FILTER (WHERE turns),"
        " (SELECT arg_max(len, (n, -len::BIGINT)) FROM counts AS c"
        " WHERE c.tb = runs.tb AND c.protocol = runs.protocol)"
        " FROM runs GROUP BY tb, protocol"
    )
    assert len(ours) > 4
    assert ours == _sorted(theirs.fetchall())
