# SPDX-License-Identifier: Apache-2.0
"""Segments that are missing, torn, changed or deleted: told, and the rest is read, or refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark")

from pyspark.sql.streaming.datasource import ReadAllAvailable
from spark.readers import contents, micro_batches, packets, reader_of
from spark.written import Written, seconds

from gigastream.spool import Spool, SpoolSettings, SpoolWriter, arrivals
from spark_sink.errors import SpoolSourceError
from tests.spool.made import write_named

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def _tear(segment: Path) -> None:
    segment.write_bytes(segment.read_bytes()[:-9])


def _change(segment: Path) -> None:
    content = bytearray(segment.read_bytes())
    content[-20] ^= 1
    segment.write_bytes(bytes(content))


DAMAGE: dict[str, tuple[Callable[[Path], None], str]] = {
    "missing": (Path.unlink, "it is missing"),
    "torn": (_tear, "bytes of"),
    "changed": (_change, "its checksum does not fit"),
}


@pytest.fixture(autouse=True)
def _nothing_is_on_its_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrivals, "PATIENCE_SECONDS", 0.0)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    Written(tmp_path).write("eth0", [(packets(n, n), seconds(n)) for n in (1, 2, 3)])
    return tmp_path


def segment_of(root: Path, number: int) -> Path:
    return root / "streams" / "low" / "eth0" / "000001" / f"segment-{number:010d}.arrows"


@pytest.mark.parametrize("kind", DAMAGE)
def test_a_damaged_segment_is_told_and_the_rest_is_read(
    kind: str, root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    damage, words = DAMAGE[kind]
    damage(segment_of(root, 1))
    reader = reader_of(root, onDamage="skip")
    (offsets,) = micro_batches(reader)
    rows, heartbeats = contents(reader, *offsets)
    assert [row[0] - rows[0][0] for row in rows] == [0, 0, 2, 2]
    assert len(heartbeats) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert "segment-0000000001.arrows is lost with 2 rows" in line
    assert words in line


@pytest.mark.parametrize("kind", DAMAGE)
def test_damage_fails_a_query_that_does_not_say_otherwise(kind: str, root: Path) -> None:
    DAMAGE[kind][0](segment_of(root, 1))
    reader = reader_of(root)
    (offsets,) = micro_batches(reader)
    with pytest.raises(SpoolSourceError, match="is lost with 2 rows") as failure:
        contents(reader, *offsets)
    assert failure.value.exit_code == 1


def test_a_damaged_line_is_told_once(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    manifest = segment_of(root, 1).with_name("manifest-000001")
    lines = manifest.read_bytes().splitlines(keepends=True)
    # Of the checksum, whose first digit may be any.
    other = b"1" if lines[1].startswith(b"0") else b"0"
    manifest.write_bytes(lines[0] + other + lines[1][1:] + b"".join(lines[2:]))
    with pytest.raises(SpoolSourceError, match="manifest-000001 line 2"):
        reader_of(root).initialOffset()
    reader = reader_of(root, onDamage="skip")
    (offsets,) = micro_batches(reader)
    assert reader.latestOffset(offsets[1], ReadAllAvailable()) == offsets[1]
    assert len(contents(reader, *offsets)[0]) == 4
    (line,) = capsys.readouterr().err.splitlines()
    assert "manifest-000001 line 2" in line


def test_a_manifest_that_is_cut_in_half_is_told(root: Path) -> None:
    manifest = segment_of(root, 1).with_name("manifest-000001")
    content = manifest.read_bytes()
    manifest.write_bytes(content[: len(content) // 2])
    with pytest.raises(SpoolSourceError, match="the manifest lacks segments"):
        reader_of(root).initialOffset()


@pytest.mark.parametrize("cut", [None, 10], ids=["not begun", "half"])
def test_a_segment_that_is_on_its_way_is_waited_for(
    root: Path, monkeypatch: pytest.MonkeyPatch, cut: int | None
) -> None:
    """A copy in the order of names has the manifest first."""
    monkeypatch.setattr(arrivals, "PATIENCE_SECONDS", 3600.0)
    segment = segment_of(root, 1)
    content = segment.read_bytes()
    segment.unlink()
    if cut is not None:
        segment.write_bytes(content[:cut])
    reader = reader_of(root)
    (first,) = micro_batches(reader)
    assert len(contents(reader, *first)[0]) == 2
    segment.write_bytes(content)
    after = reader.latestOffset(first[1], ReadAllAvailable())
    assert len(contents(reader, first[1], after)[0]) == 4


def test_a_segment_is_lost_when_nothing_comes_any_more(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arrivals, "PATIENCE_SECONDS", 0.2)
    segment_of(root, 1).unlink()
    reader = reader_of(root)
    reader.prepareForTriggerAvailableNow()
    (offsets,) = micro_batches(reader)
    with pytest.raises(SpoolSourceError, match="is lost with 2 rows: it is missing"):
        contents(reader, *offsets)


def _delete_old(root: Path) -> None:
    """What retention does: keep as good as nothing."""
    settings = SpoolSettings(segment_rows=1, keep_bytes=1, keep_margin_ns=0)
    with SpoolWriter(root, settings) as writer:
        written = Written(root)
        track = written.open(writer, "eth0")
        track.write(written.batch(packets(9)), written.bounds(seconds(9)), seconds(9), 9)


def test_a_segment_that_was_deleted_unread_stops_the_query(root: Path) -> None:
    reader = reader_of(root)
    start = reader.initialOffset()
    end = reader.latestOffset(start, ReadAllAvailable())
    parts = reader.partitions(start, end)
    _delete_old(root)
    with pytest.raises(SpoolSourceError, match="retention has deleted segments 0 to 3, which"):
        reader_of(root).latestOffset(start, ReadAllAvailable())
    with pytest.raises(SpoolSourceError, match="retention has deleted segments 0 to 3, which"):
        reader_of(root).partitions(start, end)
    with pytest.raises(SpoolSourceError, match="retention has deleted it"):
        list(reader.read(parts[0]))


def test_a_new_query_begins_behind_what_was_deleted(root: Path) -> None:
    _delete_old(root)
    reader = reader_of(root)
    (offsets,) = micro_batches(reader)
    assert offsets[0]["eth0"]["seq"] == Spool(root).tracks()[0].retained().first > 0
    assert contents(reader, *offsets)[0] == []


def test_retention_waits_for_a_reader_that_it_knows(root: Path) -> None:
    reader = reader_of(root, reader="job", maxSegmentsPerTrigger="1")
    start = reader.initialOffset()
    reader.commit(start)
    end = reader.latestOffset(start, reader.getDefaultReadLimit())
    _delete_old(root)
    assert len(contents(reader, start, end)[0]) == 2
    reader.commit(end)
    _delete_old(root)
    assert Spool(root).tracks()[0].retained().first == end["eth0"]["seq"]


@pytest.mark.long
def test_through_spark_the_rest_is_read(spark: SparkSession, root: Path) -> None:
    _change(segment_of(root, 0))
    frame = spark.read.format("gigastream").option("onDamage", "skip").load(str(root))
    assert frame.count() == 4
    strict = spark.read.format("gigastream").load(str(root))
    with pytest.raises(Exception, match="is lost with 2 rows"):
        strict.count()


@pytest.mark.parametrize("second", ["count0", "Count0"])
def test_columns_of_one_name_are_refused(second: str, tmp_path: Path) -> None:
    write_named(tmp_path, "count0", second)
    with pytest.raises(SpoolSourceError, match="two columns of its stream flows are called count0"):
        reader_of(tmp_path)
