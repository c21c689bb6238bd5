# SPDX-License-Identifier: Apache-2.0
"""What is deleted, when, and what readers can know of it."""

from __future__ import annotations

import os
import stat
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from gigastream.spool import (
    NOTHING,
    Retained,
    SegmentDamage,
    SpoolError,
    SpoolReadError,
    SpoolSettings,
    SpoolWriter,
    commit_reader,
    manifest,
    track,
)
from gigastream.spool.commits import ALL, CommitWatch, committed_floor
from gigastream.spool.layout import (
    GENERATION,
    MANIFEST,
    READERS,
    RETAINED,
    segment_name,
    segment_of,
)
from gigastream.spool.opened_place import open_place
from gigastream.spool.retention import RetainedSegments
from tests.spool.made import (
    BY_HAND,
    NEVER_NS,
    folder_of,
    numbers,
    only_track,
    open_track,
    rows,
    write_run,
)
from tests.waiting import wait_until


def kept(root: Path, generation: int = 1) -> list[int]:
    """Return the segments whose files are there."""
    numbers = (segment_of(path.name) for path in folder_of(root, generation).iterdir())
    return sorted(number for number in numbers if number is not None)


def size_of(root: Path, rows: int) -> int:
    """Return the bytes of a segment of so many rows."""
    beside = root.with_name(f"{root.name}-measure")
    write_run(beside, rows)
    return (folder_of(beside) / segment_name(0)).stat().st_size


def keeping(root: Path, segments: int, margin_ns: int = 0) -> SpoolSettings:
    """Return settings that keep so many segments of ten rows."""
    return replace(BY_HAND, keep_bytes=segments * size_of(root, 10), keep_margin_ns=margin_ns)


def test_the_oldest_go_when_there_are_too_many_bytes(tmp_path: Path) -> None:
    write_run(tmp_path, *[10] * 8, settings=keeping(tmp_path, 3))
    assert kept(tmp_path) == [5, 6, 7]
    track = only_track(tmp_path)
    segments = [entry for entry in track.poll() if entry.kind == "segment"]
    size_bytes = segments[0].size_bytes
    assert track.retained() == Retained(first=5, segments=5, rows=50, size_bytes=5 * size_bytes)
    assert numbers(track, segments[5]) == list(range(50, 60))
    with pytest.raises(SegmentDamage, match="retention has deleted it") as caught:
        numbers(track, segments[4])
    assert (caught.value.is_retired, caught.value.rows, track.damage) == (True, 10, [])


def test_the_old_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = replace(BY_HAND, keep_age_ns=NEVER_NS)
    write_run(tmp_path, 10, 10, settings=settings)
    assert kept(tmp_path) == [0, 1]
    now_ns = time.time_ns
    monkeypatch.setattr(time, "time_ns", lambda: now_ns() + 2 * NEVER_NS)
    write_run(tmp_path, 10, settings=settings)
    assert kept(tmp_path) == [2]
    assert only_track(tmp_path).retained().rows == 20


def test_a_writer_at_work_deletes_too(tmp_path: Path) -> None:
    settings = keeping(tmp_path, 2)
    with SpoolWriter(tmp_path, settings) as writer:
        track = open_track(writer)
        for n in range(0, 60, 10):
            track.write(rows(n, 10), (n + 10, NOTHING), n + 10, n)
            track._cut()
        wait_until(lambda: kept(tmp_path) == [4, 5], "the older ones to go")


def test_nothing_goes_where_nothing_is_set(tmp_path: Path) -> None:
    write_run(tmp_path, *[10] * 8)
    assert kept(tmp_path) == list(range(8))
    assert only_track(tmp_path).retained() == Retained()


@pytest.mark.parametrize(
    ("commits", "left"),
    [
        ({}, [6, 7]),
        ({"spark": 0}, [0, 1, 2, 3, 4, 5, 6, 7]),
        ({"spark": 4}, [4, 5, 6, 7]),
        ({"spark": 4, "../a": 3}, [3, 4, 5, 6, 7]),
        ({"spark": 100}, [6, 7]),
    ],
)
def test_what_a_reader_needs_is_kept(
    tmp_path: Path, commits: dict[str, int], left: list[int]
) -> None:
    write_run(tmp_path, *[10] * 8)
    for reader, segment in commits.items():
        commit_reader(only_track(tmp_path), reader, segment)
    write_run(tmp_path, settings=keeping(tmp_path, 2))
    assert kept(tmp_path) == left


@pytest.mark.parametrize("text", ['{"segment": "x"}', "{}", "[]", "", "[" * 100_000, "é"])
def test_a_commit_that_cannot_be_read_keeps_all(tmp_path: Path, text: str) -> None:
    write_run(tmp_path, *[10] * 4)
    commit_reader(only_track(tmp_path), "one", 4)
    (folder_of(tmp_path) / READERS / "two.json").write_text(text)
    write_run(tmp_path, settings=keeping(tmp_path, 1))
    assert kept(tmp_path) == [0, 1, 2, 3]


def test_what_is_committed_is_kept_a_margin_longer(tmp_path: Path) -> None:
    write_run(tmp_path, *[10] * 4)
    commit_reader(only_track(tmp_path), "one", 4)
    write_run(tmp_path, settings=keeping(tmp_path, 1, margin_ns=10**12))
    assert kept(tmp_path) == [0, 1, 2, 3]


def test_a_watch_trusts_commits_that_it_saw_a_margin_ago(tmp_path: Path) -> None:
    write_run(tmp_path, 10)
    track = only_track(tmp_path)
    watch = CommitWatch(partial(committed_floor, folder_of(tmp_path) / READERS), margin_ns=100)
    assert watch.floor(1000) == ALL
    steps = [(1010, 5, 5), (1050, 7, 5), (1109, 9, 5), (1110, 9, 5), (1149, 9, 5), (1150, 9, 7)]
    for now_ns, commit, floor in [*steps, (1209, 12, 9), (1300, 3, 3), (1399, 12, 3)]:
        commit_reader(track, "one", commit)
        assert watch.floor(now_ns) == floor, now_ns
    (folder_of(tmp_path) / READERS / "one.json").unlink()
    assert watch.floor(1450) == 3
    assert watch.floor(1499) == 12
    assert watch.floor(1550) == ALL


def test_a_writer_that_begins_waits_for_the_margin(tmp_path: Path) -> None:
    write_run(tmp_path, 10)
    commit_reader(only_track(tmp_path), "one", 5)
    watch = CommitWatch(partial(committed_floor, folder_of(tmp_path) / READERS), margin_ns=100)
    assert [watch.floor(now_ns) for now_ns in (1000, 1099, 1100)] == [0, 0, 5]


def test_older_generations_go_first(tmp_path: Path) -> None:
    write_run(tmp_path, *[10] * 4, end=True)
    write_run(tmp_path, *[10] * 3, settings=keeping(tmp_path, 5))
    assert (kept(tmp_path, 1), kept(tmp_path, 2)) == ([2, 3], [0, 1, 2])
    commit_reader(only_track(tmp_path, generation=1), "late", 3)
    write_run(tmp_path, settings=keeping(tmp_path, 2))
    assert (kept(tmp_path, 1), kept(tmp_path, 2)) == ([3], [2])


def test_a_deletion_that_a_crash_interrupted_is_finished(tmp_path: Path) -> None:
    settings = keeping(tmp_path, 2)
    write_run(tmp_path, *[10] * 4)
    sound = (folder_of(tmp_path) / segment_name(0)).read_bytes()
    write_run(tmp_path, settings=settings)
    (folder_of(tmp_path) / segment_name(0)).write_bytes(sound)
    write_run(tmp_path, settings=settings)
    assert kept(tmp_path) == [2, 3]
    track = only_track(tmp_path)
    track.poll()
    assert track.retained().segments == 2
    assert track.lost == []


def test_a_run_after_a_deletion_goes_on_with_the_numbers(tmp_path: Path) -> None:
    settings = replace(BY_HAND, keep_bytes=0)
    write_run(tmp_path, 10, 10, settings=settings)
    assert kept(tmp_path) == []
    write_run(tmp_path, 10)
    assert kept(tmp_path) == [2]
    track = only_track(tmp_path)
    *_, segment = track.poll()
    assert numbers(track, segment) == list(range(20, 30))


def test_a_reader_that_cannot_commit_says_so(tmp_path: Path) -> None:
    write_run(tmp_path, 10)
    (folder_of(tmp_path) / READERS).write_text("")
    with pytest.raises(SpoolReadError, match="cannot commit"):
        commit_reader(only_track(tmp_path), "one", 1)


NOBODY = 65534


@pytest.mark.parametrize("mode", [0o755, 0o775])
def test_who_commits_to_a_silent_generation_leaves_it_to_its_writer(
    tmp_path: Path, mode: int
) -> None:
    """Its folder is made for the reader's file, and the writer's first segment goes there, too."""
    root, owner = tmp_path / "spool", NOBODY if os.geteuid() == 0 else os.geteuid()
    root.mkdir()
    root.chmod(mode)
    os.chown(root, owner, -1)
    open_place(str(root)).commit(str(folder_of(root)), "one", 0, None)
    made = [path for path in root.rglob("*") if path.is_dir()]
    assert folder_of(root) / READERS in made
    assert {path.stat().st_uid for path in made} == {owner}
    assert {stat.S_IMODE(path.stat().st_mode) for path in made} == {mode}


def test_a_folder_that_a_reader_makes_is_whole_when_it_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The writer may come at any moment, also first."""
    seen: list[int] = []
    rename = os.rename

    def looks_before(beside: str, name: str, **ways: int) -> None:
        found = os.stat(beside, dir_fd=ways["src_dir_fd"])
        seen.append(stat.S_IMODE(found.st_mode))
        if name == READERS:  # somebody has been sooner, and has put something there
            (folder_of(tmp_path) / READERS).mkdir()
            (folder_of(tmp_path) / READERS / "other.json").write_text("{}")
        rename(beside, name, **ways)

    tmp_path.chmod(0o750)
    monkeypatch.setattr(os, "rename", looks_before)
    open_place(str(tmp_path)).commit(str(folder_of(tmp_path)), "one", 0, None)
    assert set(seen) == {0o750}
    made = folder_of(tmp_path) / READERS
    assert {path.name for path in made.iterdir()} == {"one.json", "other.json"}
    assert list(tmp_path.rglob(".*")) == []


def test_readers_see_no_other_files(tmp_path: Path) -> None:
    write_run(tmp_path, 10, 10, settings=keeping(tmp_path, 1))
    names = {path.name for path in folder_of(tmp_path).iterdir()}
    own = {GENERATION, MANIFEST, RETAINED, segment_name(1)}
    assert names == own
    assert all_numbers_kept(tmp_path) == list(range(10, 20))


def all_numbers_kept(root: Path) -> list[int]:
    """Return the rows of the segments that retention has left."""
    track = only_track(root)
    first = track.retained().first
    entries = [entry for entry in track.poll() if entry.is_segment]
    return [n for entry in entries if entry.segment >= first for n in numbers(track, entry)]


WRONG = [
    {"segment_rows": 0},
    {"segment_bytes": -1},
    {"segment_age_ns": 1.5},
    {"keep_bytes": -1},
    {"keep_age_ns": True},
    {"keep_margin_ns": "60"},
    {"sync": 0},
    {"sync": "never"},
]


@pytest.mark.parametrize("wrong", WRONG, ids=str)
def test_settings_that_make_no_sense_are_named(wrong: dict[str, object]) -> None:
    with pytest.raises(SpoolError, match=next(iter(wrong))):
        SpoolSettings(**wrong)  # type: ignore[arg-type]


def test_a_long_manifest_is_read_bit_by_bit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is listed meanwhile stands behind all that is still to be read."""
    monkeypatch.setattr(manifest, "ROLL_BYTES", 700)
    monkeypatch.setattr(track, "ROLL_BYTES", 700)
    write_run(tmp_path, *[10] * 12)
    folder = folder_of(tmp_path)
    segments = [entry for entry in only_track(tmp_path).poll() if entry.kind == "segment"]
    writer = manifest.ManifestWriter(folder)
    found = RetainedSegments(folder, 0, writer)
    found.add(replace(segments[-1], segment=12))
    found.prune(NEVER_NS**2, 0, ALL)
    assert kept(tmp_path) == list(range(12))
    found.read_more()
    size_bytes = sum(entry.size_bytes for entry in segments) + segments[-1].size_bytes
    assert found.size_bytes == size_bytes
    assert [entry.segment for entry in found.due(ALL, NEVER_NS**2, 0)] == list(range(13))
    found.prune(NEVER_NS**2, 0, 9)
    assert kept(tmp_path) == [9, 10, 11]
