# SPDX-License-Identifier: Apache-2.0
"""Folders of Parquet by the hour: where rows are, and what a writer that died has left."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset
import pytest

from gigastream.sinks import Key, SinkError, parse_sink_place

HOUR_NS = 3600 * 10**9
SCHEMA = pa.schema([pa.field("at", pa.timestamp("ns", "UTC")), pa.field("n", pa.int64())])
NOON = datetime(2026, 11, 23, 12, tzinfo=UTC)
NOON_NS = int(NOON.timestamp()) * 10**9


def rows(*pairs: tuple[int | None, int]) -> pa.Table:
    columns = zip(*pairs, strict=True)
    arrays = [pa.array(c, f.type) for c, f in zip(columns, SCHEMA, strict=True)]
    return pa.table(arrays, schema=SCHEMA)


def numbers(root: Path) -> list[int]:
    table = pyarrow.dataset.dataset(root / "rows", SCHEMA, format="parquet").to_table()
    return sorted(table.column("n").to_pylist())


def test_an_hour_has_a_folder(tmp_path: Path) -> None:
    table = parse_sink_place(f"dataset:{tmp_path}").open("rows", SCHEMA)
    table.write(rows((NOON_NS, 1), (NOON_NS + HOUR_NS - 1, 2), (NOON_NS - 1, 3), (None, 4)), None)
    table.close()
    files = (tmp_path / "rows").glob("date=*/hour=*/*.parquet")
    folders = {str(path.parent.relative_to(tmp_path / "rows")) for path in files}
    nowhere = "date=__HIVE_DEFAULT_PARTITION__/hour=__HIVE_DEFAULT_PARTITION__"
    assert folders == {"date=2026-11-23/hour=12", "date=2026-11-23/hour=11", nowhere}
    noon = pyarrow.dataset.dataset(tmp_path / "rows/date=2026-11-23/hour=12").to_table()
    assert noon.column("n").to_pylist() == [1, 2]
    assert numbers(tmp_path) == [1, 2, 3, 4]


def test_nanoseconds_are_kept(tmp_path: Path) -> None:
    table = parse_sink_place(f"dataset:{tmp_path}").open("rows", SCHEMA)
    table.write(rows((NOON_NS + 1, 1)), None)
    found = pyarrow.dataset.dataset(tmp_path / "rows", SCHEMA, format="parquet").to_table()
    assert found.column("at").cast(pa.int64()).to_pylist() == [NOON_NS + 1]


@pytest.mark.parametrize("writer", ["same", "other"])
def test_what_was_committed_and_not_moved_is_moved_by_whoever_comes_next(
    tmp_path: Path, writer: str
) -> None:
    asked = parse_sink_place(f"dataset:{tmp_path}")
    asked.open("rows", SCHEMA).write(rows((NOON_NS, 1), (NOON_NS + HOUR_NS, 2)), Key("same", 7))
    ours = tmp_path / "rows" / "_gigastream"
    for moved in (tmp_path / "rows").glob("date=*/hour=*/*.parquet"):
        moved.rename(ours / moved.name)
    assert numbers(tmp_path) == []
    table = asked.open("rows", SCHEMA)
    assert numbers(tmp_path) == [1, 2]
    assert table.write(rows((NOON_NS, 3)), Key(writer, 7)) is (writer == "other")


def test_what_was_staged_and_not_committed_goes(tmp_path: Path) -> None:
    asked = parse_sink_place(f"dataset:{tmp_path}")
    table = asked.open("rows", SCHEMA)
    table.write(rows((NOON_NS, 1)), Key("run", 1))
    ours = tmp_path / "rows" / "_gigastream"
    (written,) = (tmp_path / "rows").glob("date=*/hour=*/*.parquet")
    (ours / written.name.replace("-1-", "-2-")).write_bytes(written.read_bytes())
    assert asked.open("rows", SCHEMA).write(rows((NOON_NS, 2)), Key("run", 3))
    assert list(ours.glob("*.parquet")) == []
    assert numbers(tmp_path) == [1, 2]


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        (pa.schema([pa.field("n", pa.int64())]), "no column is a timestamp"),
        (SCHEMA.append(pa.field("hour", pa.int64())), "called hour=…, as a column is"),
        (SCHEMA.append(pa.field("Hour", pa.int64())), "called hour=…, as a column is"),
    ],
)
def test_what_has_no_hours_is_refused(schema: pa.Schema, message: str, tmp_path: Path) -> None:
    with pytest.raises(SinkError, match=message) as error:
        parse_sink_place(f"dataset:{tmp_path}").open("rows", schema)
    assert error.value.exit_code == 2
    assert list(tmp_path.iterdir()) == []
