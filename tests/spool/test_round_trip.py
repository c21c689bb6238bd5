# SPDX-License-Identifier: Apache-2.0
"""What is written is read: rows, punctuation, columns, names, plans; and when segments are cut."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pyarrow
import pytest

from gigastream.spool import (
    END,
    NOTHING,
    Entry,
    Spool,
    SpoolError,
    SpoolReadError,
    SpoolSettings,
    SpoolWriter,
    StoredQuerySet,
    StreamDescription,
)
from tests.spool.made import (
    BY_HAND,
    COLUMNS,
    NEVER_NS,
    PLAN,
    QUERIES,
    SCHEMA,
    all_numbers,
    numbers,
    only_track,
    open_track,
    query_set,
    rows,
    write_run,
)
from tests.waiting import wait_until


def told(entry: Entry) -> tuple[object, ...]:
    return (
        entry.kind,
        entry.segment,
        entry.rows,
        entry.bounds,
        entry.base_ns,
        entry.first,
        entry.last,
    )


def test_rows_and_punctuation_come_back(tmp_path: Path) -> None:
    with SpoolWriter(tmp_path, BY_HAND) as writer:
        track = open_track(writer)
        track.write(None, (5, NOTHING), 50, 0)
        track.write(rows(5, 3), (7, NOTHING), 70, 1)
        track.write(None, (8, NOTHING), 80, 2)
        track.write(rows(8, 2), (10, 4), 100, 3)
        track.write(None, (END, END), END, 4, is_end=True)
    track = only_track(tmp_path)
    entries = track.poll()
    assert [told(entry) for entry in entries] == [
        ("run", None, 0, (NOTHING, NOTHING), NOTHING, 0, 0),
        ("punctuation", None, 0, (5, NOTHING), 50, 0, 0),
        ("segment", 0, 5, (10, 4), 100, 1, 3),
        ("end", None, 0, (END, END), END, 4, 4),
    ], entries
    assert [list(track.read(entry)) for entry in entries[:2]] == [[], []]
    (batch,) = track.read(entries[2])
    assert batch == pyarrow.Table.from_batches([rows(5, 5)]).to_batches()[0]
    assert batch.schema.equals(SCHEMA, check_metadata=True)
    assert (track.is_ended, track.damage, track.lost, track.poll()) == (True, [], [], [])
    assert track.entries == entries


def test_a_reader_follows_a_writer_at_work(tmp_path: Path) -> None:
    settings = replace(BY_HAND, segment_rows=10)
    with SpoolWriter(tmp_path, settings) as writer:
        written, track = open_track(writer), only_track(tmp_path)
        for n in range(0, 100, 10):
            written.write(rows(n, 10), (n + 10, NOTHING), n + 10, n)
            entries = poll_until(track, lambda entry: entry.kind == "segment")
            assert [m for entry in entries for m in numbers(track, entry)] == list(range(n, n + 10))


def poll_until(track, wanted) -> list[Entry]:  # type: ignore[no-untyped-def]
    entries: list[Entry] = []

    def is_there() -> bool:
        entries.extend(track.poll())
        return any(map(wanted, entries))

    wait_until(is_there, "the entry")
    return entries


def test_the_end_has_passed_all_packet_time(tmp_path: Path) -> None:
    with SpoolWriter(tmp_path, BY_HAND) as writer:
        open_track(writer).write(rows(0, 2), (2, NOTHING), 20, 7, is_end=True)
    _, segment, end = only_track(tmp_path).poll()
    assert told(segment) == ("segment", 0, 2, (NOTHING, NOTHING), NOTHING, 7, 7)
    assert told(end) == ("end", None, 0, (2, NOTHING), END, 7, 7)


PROJECTIONS = [["n"], ["ip"], ["ip", "n"], ["n", "ip"], ["n", "n"], []]


@pytest.mark.parametrize("columns", PROJECTIONS)
@pytest.mark.parametrize("check", [True, False])
def test_only_the_columns_that_are_wanted(tmp_path: Path, columns: list[str], check: bool) -> None:
    write_run(tmp_path, 4)
    track = only_track(tmp_path)
    segment = track.poll()[-1]
    (batch,) = track.read(segment, columns, check)
    assert batch.schema.names == columns
    assert batch.num_rows == 4
    assert batch.columns == [rows(0, 4).column(name) for name in columns]


def test_a_column_that_is_not_there_is_the_callers_mistake(tmp_path: Path) -> None:
    write_run(tmp_path, 4)
    track = only_track(tmp_path)
    with pytest.raises(ValueError, match="'bytes'"):
        list(track.read(track.poll()[-1], ["bytes"]))
    assert track.damage == []


CUTS = {
    "rows": (replace(BY_HAND, segment_rows=10), [12, 12, 6]),
    "bytes": (replace(BY_HAND, segment_bytes=1), [6, 6, 6, 6, 6]),
    "age": (SpoolSettings(segment_age_ns=1), [6, 6, 6, 6, 6]),
    "none": (BY_HAND, [30]),
}


@pytest.mark.parametrize("name", CUTS)
@pytest.mark.parametrize("sync", ["segment", 1, NEVER_NS])
def test_segments_are_cut(tmp_path: Path, name: str, sync: int) -> None:
    settings, sizes = CUTS[name]
    with SpoolWriter(tmp_path, replace(settings, sync=sync)) as writer:
        track = open_track(writer)
        for n in range(0, 30, 6):
            track.write(rows(n, 6), (n, NOTHING), n, n)
    track = only_track(tmp_path)
    assert [entry.rows for entry in track.poll() if entry.kind == "segment"] == sizes
    assert all_numbers(track) == list(range(30))


def test_a_tick_cuts_what_is_old(tmp_path: Path) -> None:
    with SpoolWriter(tmp_path, SpoolSettings(segment_age_ns=20_000_000)) as writer:
        track = open_track(writer)
        track.write(rows(0, 6), (6, NOTHING), 6, 0)
        time.sleep(0.03)
        writer.tick()
        assert poll_until(only_track(tmp_path), lambda entry: entry.segment == 0)


def test_small_batches_become_large_ones(tmp_path: Path) -> None:
    with SpoolWriter(tmp_path, BY_HAND) as writer:
        track = open_track(writer)
        for n in range(5_000):
            track.write(rows(n, 1), (n, NOTHING), n, n)
    track = only_track(tmp_path)
    batches = list(track.read(track.poll()[-1]))
    assert len(batches) == 1
    assert all_numbers(track) == list(range(5_000))


def test_punctuation_is_listed_only_when_it_grows_and_never_goes_back(tmp_path: Path) -> None:
    with SpoolWriter(tmp_path, BY_HAND) as writer:
        track = open_track(writer)
        for bound in (NOTHING, 3, 3, 2, 4):
            track.write(None, (bound, NOTHING), bound, 0)
        track.write(rows(0, 0), (4, 1), 0, 0)
    (entry,) = only_track(tmp_path).poll()
    assert (entry.kind, entry.bounds, entry.base_ns) == ("punctuation", (4, 1), 4)


def test_what_held_before_a_segment_is_said_with_it(tmp_path: Path) -> None:
    """For those who read it later: a window that was over is not held open for its rows."""
    with SpoolWriter(tmp_path, BY_HAND) as writer:
        track = open_track(writer)
        for bound in (1, 2, 3):
            track.write(None, (bound, NOTHING), bound, 0)
        track.write(rows(7, 1), (8, NOTHING), 8, 1)
        track._cut()
        track.write(None, (9, NOTHING), 9, 2)
    entries = only_track(tmp_path).poll()
    assert [(entry.kind, entry.base_ns) for entry in entries] == [
        ("run", NOTHING),
        ("punctuation", 3),
        ("segment", 8),
        ("punctuation", 9),
    ]


@pytest.mark.parametrize("bounds", [(1,), (1, 2, 3), (END + 1, 0), (NOTHING - 1, 0)])
def test_bounds_that_are_not_the_tracks_are_the_callers_mistake(
    tmp_path: Path, bounds: tuple[int, ...]
) -> None:
    with SpoolWriter(tmp_path, BY_HAND) as writer:
        track = open_track(writer)
        with pytest.raises(ValueError, match="bound"):
            track.write(rows(0, 1), bounds, 0, 0)


def test_another_schema_is_the_callers_mistake(tmp_path: Path) -> None:
    with SpoolWriter(tmp_path, BY_HAND) as writer:
        track = open_track(writer)
        with pytest.raises(ValueError, match="on a track of"):
            track.write(rows(0, 1).select(["ip", "n"]), (0, 0), 0, 0)


NAMES = ["eth0", "..", ".", ".hidden", "a/b", "../../etc", "ü é", "100%", "x" * 200]


def test_streams_and_interfaces_may_have_any_name(tmp_path: Path) -> None:
    root = tmp_path / "made" / "on the way"
    with SpoolWriter(root, BY_HAND) as writer:
        tracks = writer.open(query_set(*NAMES), [(name, name) for name in NAMES])
        for name in NAMES:
            tracks[name, name].write(rows(0, 1), (1, 1), 1, 0)
    spool = Spool(root)
    assert sorted(track.stream for track in spool.tracks()) == sorted(NAMES)
    for name in NAMES:
        (track,) = spool.tracks(name, [name])
        assert (track.stream, track.interface, all_numbers(track)) == (name, name, [0])
    assert spool.tracks("eth0", ["lo"]) == spool.tracks("nothing") == ()
    assert list(tmp_path.iterdir()) == [tmp_path / "made"]


@pytest.mark.parametrize("name", ["", "a\nb", "\x1b[31m", "\ud800", "x" * 201])
def test_names_that_do_not_print_are_refused(tmp_path: Path, name: str) -> None:
    with SpoolWriter(tmp_path) as writer, pytest.raises(SpoolError, match="cannot be called"):
        open_track(writer, interface=name)


@pytest.mark.parametrize("scheme", ["", "file://"])
def test_a_spool_says_what_it_is_of(tmp_path: Path, scheme: str) -> None:
    write_run(tmp_path, 1)
    spool = Spool(f"{scheme}{tmp_path}")
    (track,) = spool.tracks()
    assert (spool.plan(), spool.queries()) == (PLAN, QUERIES)
    assert spool.query_set == query_set().hash
    assert spool.stream_hashes() == {"flows": track.hash}
    assert (track.stream, track.interface, track.generation) == ("flows", "eth0", 1)
    assert track.columns == COLUMNS
    assert track.schema.equals(SCHEMA, check_metadata=True)
    assert all_numbers(track) == [0]


@pytest.mark.parametrize("path", ["", "nowhere", "nowhere://else", "file://nowhere"])
def test_what_is_no_spool(tmp_path: Path, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a file").touch()
    with pytest.raises(SpoolReadError) as caught:
        Spool(path or tmp_path)
    assert caught.value.exit_code == 2
    assert str(path or tmp_path) in str(caught.value)


def test_a_file_is_no_spool(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.touch()
    with pytest.raises(SpoolReadError, match="is no spool"):
        Spool(path)


TYPES = [
    pyarrow.bool_(), pyarrow.uint16(), pyarrow.uint32(), pyarrow.int32(), pyarrow.uint64(),
    pyarrow.int64(), pyarrow.float64(), pyarrow.binary(), pyarrow.binary(16),
    pyarrow.timestamp("ns", "UTC"),
]  # fmt: skip


def test_every_type_comes_back_with_its_nulls(tmp_path: Path) -> None:
    schema = pyarrow.schema([(f"c{n}", type_) for n, type_ in enumerate(TYPES)])
    arrays = [pyarrow.nulls(3, type_) for type_ in TYPES]
    arrays[7] = pyarrow.array([b"", None, b"\xff" * 70_000], pyarrow.binary())
    arrays[4] = pyarrow.array([0, None, 2**64 - 1], pyarrow.uint64())
    batch = pyarrow.record_batch(arrays, schema=schema)
    with SpoolWriter(tmp_path) as writer:
        stream = StreamDescription("", [{"name": name} for name in schema.names], schema)
        (track,) = writer.open(StoredQuerySet({}, {}, {"s": stream}), [("s", "i")]).values()
        for n in range(3):
            track.write(batch.slice(n, 1), (NOTHING,) * len(TYPES), NOTHING, n)
    track = only_track(tmp_path)
    assert list(track.read(track.poll()[-1])) == [batch]
