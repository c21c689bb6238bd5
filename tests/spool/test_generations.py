# SPDX-License-Identifier: Apache-2.0
"""When a run goes on with a generation, when it begins one, and which one a reader gets."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow
import pytest

from gigastream.spool import (
    END,
    NOTHING,
    Lost,
    Spool,
    SpoolError,
    SpoolReadError,
    SpoolWriter,
    StoredQuerySet,
    TrackWriter,
    lock,
)
from gigastream.spool.layout import GENERATION, MANIFEST, SETS, segment_name
from gigastream.spool.layout import PLAN as PLAN_FILE
from tests.spool.made import (
    BY_HAND,
    COLUMNS,
    PLAN,
    QUERIES,
    SCHEMA,
    all_numbers,
    folder_of,
    only_track,
    open_track,
    query_set,
    rows,
    write_run,
)


def test_a_run_goes_on_where_the_last_one_stopped(tmp_path: Path) -> None:
    write_run(tmp_path, 3, 4)
    with SpoolWriter(tmp_path, BY_HAND) as writer:
        track = open_track(writer)
        assert track.resume == ((7, NOTHING), 7, None)
    write_run(tmp_path, 2)
    track_read = only_track(tmp_path)
    assert all_numbers(track_read) == list(range(9))
    kinds = [entry.kind for entry in track_read.entries]
    assert kinds == ["run", "segment", "segment", "run", "run", "segment"], kinds
    assert track_read.entries[-1].segment == 2
    assert (track_read.generation, track_read.lost) == (1, [])


def test_an_ended_generation_is_not_gone_on_with(tmp_path: Path) -> None:
    write_run(tmp_path, 3, end=True)
    write_run(tmp_path, 4)
    assert all_numbers(only_track(tmp_path)) == list(range(4))
    assert all_numbers(only_track(tmp_path, generation=1)) == list(range(3))
    assert [only_track(tmp_path, n).is_ended for n in (None, 1, 2)] == [False] * 3
    with pytest.raises(SpoolReadError, match="has no generation 3"):
        Spool(tmp_path, generation=3)


CHANGES: dict[str, dict[str, Any]] = {
    "plan": {"plan": {"low": ["others"]}},
    "columns": {"columns": [COLUMNS[0], COLUMNS[1] | {"type": "uint"}]},
    "schema": {"schema": SCHEMA.set(1, pyarrow.field("ip", pyarrow.uint32()))},
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_begins_a_generation_and_ends_the_last(tmp_path: Path, change: str) -> None:
    write_run(tmp_path, 3)
    reader = only_track(tmp_path)
    reader.poll()
    with SpoolWriter(tmp_path, BY_HAND) as writer:
        (track,) = writer.open(query_set(**CHANGES[change]), [("flows", "eth0")]).values()
        assert track.resume == ((NOTHING, NOTHING), NOTHING, None)
    run, end = reader.poll()
    assert (run.kind, run.lost) == ("run", Lost())
    assert (end.kind, end.bounds, end.base_ns) == ("end", (3, NOTHING), END)
    assert only_track(tmp_path).generation == 2


def test_another_text_of_the_same_plan_changes_nothing(tmp_path: Path) -> None:
    write_run(tmp_path, 3)
    with SpoolWriter(tmp_path) as writer:
        writer.open(query_set(queries={"files": ["others"]}), [("flows", "eth0")])
    assert only_track(tmp_path).generation == 1
    assert [path.name for path in (tmp_path / SETS).iterdir()] == ["000001"]


def test_a_query_that_is_added_disturbs_no_other(tmp_path: Path) -> None:
    """Only a change of what a stream depends on begins a new generation of it."""
    write_run(tmp_path, 3)
    reader = only_track(tmp_path)
    reader.poll()
    more = StoredQuerySet({"low": ["flows", "more"]}, QUERIES, query_set("flows", "more").streams)
    with SpoolWriter(tmp_path, BY_HAND) as writer:
        tracks = writer.open(more, [("flows", "eth0"), ("more", "eth0")])
        tracks["flows", "eth0"].write(rows(3, 2), (5, NOTHING), 5, 1)
        tracks["more", "eth0"].write(rows(0, 1), (1, NOTHING), 1, 1)
    assert all_numbers(reader) == list(range(5))
    spool = Spool(tmp_path)
    assert spool.plan() == more.plan
    assert [(track.stream, track.generation) for track in spool.tracks()] == [
        ("flows", 1),
        ("more", 1),
    ]
    write_run(tmp_path, 1)  # without it again
    assert all_numbers(reader) == list(range(6))
    assert [track.stream for track in Spool(tmp_path).tracks()] == ["flows"]


def test_a_query_that_is_dropped_ends_for_those_who_read_it(tmp_path: Path) -> None:
    with SpoolWriter(tmp_path) as writer:
        writer.open(query_set("flows", "gone"), [("flows", "eth0"), ("gone", "eth0")])
    (gone,) = Spool(tmp_path).tracks("gone")
    assert not gone.is_ended
    write_run(tmp_path, 1)
    assert [entry.kind for entry in gone.poll()] == ["run", "end"]
    assert gone.is_ended


def test_tracks_are_those_of_the_newest_query_set(tmp_path: Path) -> None:
    with SpoolWriter(tmp_path) as writer:
        for track in writer.open(query_set(), [("flows", "eth0"), ("flows", "eth1")]).values():
            track.write(rows(0, 1), (1, 1), 1, 0)
    with SpoolWriter(tmp_path) as writer:
        open_track(writer, interface="eth1", plan={"low": []})
    spool = Spool(tmp_path)
    assert spool.plan() == {"low": []}
    assert [(track.interface, track.generation) for track in spool.tracks()] == [("eth1", 2)]
    old = Spool(tmp_path, generation=1)
    assert old.plan() == PLAN
    assert [track.interface for track in old.tracks()] == ["eth0", "eth1"]


def test_what_a_crash_left_of_a_generation_in_the_making_is_no_track(tmp_path: Path) -> None:
    making = tmp_path / SETS / ".making-1"
    making.mkdir(parents=True)
    (making / PLAN_FILE).write_text("{")
    with pytest.raises(SpoolReadError):
        Spool(tmp_path)
    write_run(tmp_path, 3)
    assert all_numbers(only_track(tmp_path)) == [0, 1, 2]
    assert not making.exists()


def test_what_was_not_listed_is_told_and_deleted(tmp_path: Path) -> None:
    write_run(tmp_path, 3)
    folder = folder_of(tmp_path)
    (folder / segment_name(1)).write_bytes(bytes(100))
    (folder / segment_name(2)).write_bytes(b"")
    with (folder / MANIFEST).open("ab") as stream:
        stream.write(b"01234567 {")
    reader = only_track(tmp_path)
    assert all_numbers(reader) == [0, 1, 2]
    assert reader.damage == []
    write_run(tmp_path, 2)
    assert all_numbers(reader) == list(range(5))
    assert reader.lost == [Lost(manifest_bytes=10, segments=2, segment_bytes=100)]
    assert reader.entries[-1].segment == 3
    assert sorted(path.name for path in folder.glob("seg*")) == [segment_name(0), segment_name(3)]


DAMAGES = {
    "missing": Path.unlink,
    "torn": lambda path: os.truncate(path, 40),
    "changed": lambda path: path.write_bytes(bytes(path.stat().st_size)),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_what_was_listed_and_is_damaged_is_told(tmp_path: Path, damage: str) -> None:
    write_run(tmp_path, 3, 4)
    DAMAGES[damage](folder_of(tmp_path) / segment_name(1))
    write_run(tmp_path, 2)
    track = only_track(tmp_path)
    track.poll()
    assert track.lost == [Lost(damaged_segments=1, damaged_rows=4)]
    assert track.entries[-1].segment == 2


@pytest.mark.parametrize("content", [None, b"", b"{", b"[]", b"[" * 100_000, b"{}", b"\xff"])
@pytest.mark.parametrize("name", [GENERATION, MANIFEST])
def test_a_writer_goes_on_over_damage_and_deletes_nothing_that_may_have_been_listed(
    tmp_path: Path, name: str, content: bytes | None
) -> None:
    write_run(tmp_path, 3)
    path = folder_of(tmp_path) / name
    path.unlink() if content is None else path.write_bytes(content)
    write_run(tmp_path, 2)
    before = [0, 1, 2] if name == GENERATION else []
    assert all_numbers(only_track(tmp_path)) == [*before, 3, 4]
    assert (folder_of(tmp_path) / segment_name(0)).exists()


def live_run(root: Path, first: int, *, end: bool = True) -> TrackWriter:
    """Write a row of eth0 as of a link, and the end."""
    with SpoolWriter(root, BY_HAND) as writer:
        (track,) = writer.open(query_set(), [("flows", "eth0")], live=["eth0"]).values()
        track.write(rows(first, 1), (first + 1, NOTHING), first + 1, 1)
        if end:
            track.write(None, (END, NOTHING), END, 2, is_end=True)
    return track


def test_a_link_goes_on_behind_an_end(tmp_path: Path) -> None:
    """In another generation, above what rows had promised before; a reader finds all of them."""
    assert live_run(tmp_path, 0).resume == ((NOTHING, NOTHING), NOTHING, None)
    assert live_run(tmp_path, 3).resume == ((1, NOTHING), 1, None)
    assert live_run(tmp_path, 6, end=False).resume == ((4, NOTHING), 4, None)
    assert live_run(tmp_path, 8, end=False).resume == ((7, NOTHING), 7, None)
    spool = Spool(tmp_path)
    (newest,) = spool.tracks()
    found = [*spool.earlier(newest), newest]
    assert [track.generation for track in found] == [1, 2, 3]
    assert [n for track in found for n in all_numbers(track)] == [0, 3, 6, 8]
    assert Spool(tmp_path, generation=2).earlier(found[1]) == ()


def test_what_is_read_anew_goes_on_with_nothing(tmp_path: Path) -> None:
    live_run(tmp_path, 0)
    live_run(tmp_path, 3)
    write_run(tmp_path, 1)
    live_run(tmp_path, 3, end=False)
    spool = Spool(tmp_path)
    (newest,) = spool.tracks()
    assert newest.generation == 3
    assert spool.earlier(newest) == ()


def test_a_spool_stays_the_same_wherever_it_lies(tmp_path: Path) -> None:
    for name in ("here", "another"):
        write_run(tmp_path / name, 1)
    identity = Spool(tmp_path / "here").identity
    assert identity not in (None, Spool(tmp_path / "another").identity)
    (tmp_path / "here").rename(tmp_path / "there")
    write_run(tmp_path / "there", 1, plan={"low": ["others"]})
    assert Spool(tmp_path / "there").identity == identity


def test_what_a_writer_that_is_gone_has_left_is_ended(tmp_path: Path) -> None:
    with SpoolWriter(tmp_path, BY_HAND) as writer:
        tracks = writer.open(query_set(), [("flows", "eth0"), ("flows", "eth1")])
        tracks["flows", "eth0"].write(rows(0, 1), (1, NOTHING), 1, 1)
        tracks["flows", "eth1"].write(None, (5, NOTHING), 5, 1)
    with SpoolWriter(tmp_path) as writer:
        assert [ended.interface for ended in writer.end()] == ["eth0", "eth1"]
    tracks_read = Spool(tmp_path).tracks()
    assert [track.poll()[-1].kind for track in tracks_read] == ["end", "end"]
    with SpoolWriter(tmp_path) as writer:
        assert writer.end() == []


def test_whether_somebody_writes_is_told_by_the_lock(tmp_path: Path) -> None:
    with SpoolWriter(tmp_path) as writer:
        open_track(writer)
        spool = Spool(tmp_path)
        assert spool.has_writer() is True
        with SpoolWriter(tmp_path) as second, pytest.raises(SpoolError, match="another run writes"):
            second.end()
    assert spool.has_writer() is False


def test_on_a_filesystem_of_several_hosts_the_lock_tells_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_run(tmp_path / "spool", 1)
    device = (tmp_path / "spool").stat().st_dev
    mounts = tmp_path / "mounts"
    line = "36 35 {}:{} / {} rw,noatime master:1 - {} host:/export rw\n"
    for kind, told in (("nfs4", None), ("ext4", False)):
        number = os.major(device), os.minor(device)
        mounts.write_text(line.format(*number, tmp_path, kind))
        monkeypatch.setattr(lock, "_MOUNTS", str(mounts))
        assert Spool(tmp_path / "spool").has_writer() is told


def test_who_looks_for_a_writer_keeps_none_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who asks is out of the way when the writer tries for the third time."""
    write_run(tmp_path, 1)
    asking = os.open(tmp_path, os.O_RDONLY)
    fcntl.flock(asking, fcntl.LOCK_SH)
    pauses: list[float] = []

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 2:
            os.close(asking)

    monkeypatch.setattr(lock, "time", SimpleNamespace(sleep=pause))
    write_run(tmp_path, 1)
    assert len(pauses) == 2


def test_one_run_at_a_time(tmp_path: Path) -> None:
    with SpoolWriter(tmp_path) as first, SpoolWriter(tmp_path) as second:
        open_track(first)
        with pytest.raises(SpoolError, match="another run writes") as caught:
            open_track(second)
        assert caught.value.exit_code == 2
    write_run(tmp_path, 1)


def test_a_closed_track_takes_nothing(tmp_path: Path) -> None:
    with SpoolWriter(tmp_path) as writer:
        track = open_track(writer)
        track.write(None, (END, END), END, 0, is_end=True)
        track.tick()
        track.close()
        with pytest.raises(ValueError, match="has ended"):
            track.write(None, (END, END), END, 1)
        assert open_track(writer).resume.base_ns == NOTHING
        with pytest.raises(ValueError, match="still open"):
            open_track(writer)
