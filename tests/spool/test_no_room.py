# SPDX-License-Identifier: Apache-2.0
"""Full disks and places that cannot be written: an error, and what was listed is read."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from gigastream.spool import (
    END,
    NOTHING,
    Entry,
    Lost,
    Spool,
    SpoolError,
    SpoolSettings,
    SpoolWriter,
)
from gigastream.spool.layout import MANIFEST, segment_name
from gigastream.spool.manifest import ManifestWriter, read_roll
from tests.room import files_no_larger_than
from tests.spool.made import (
    BY_HAND,
    NEVER_NS,
    all_numbers,
    folder_of,
    only_track,
    open_track,
    query_set,
    rows,
    write_run,
)
from tests.waiting import wait_until


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A filesystem of one megabyte, where mounting is allowed."""
    command = ["mount", "-t", "tmpfs", "-o", "size=1m", "gigastream-test", str(tmp_path)]
    if os.geteuid() != 0 or subprocess.run(command, check=False, capture_output=True).returncode:
        pytest.skip("mounting a small tmpfs needs root")
    try:
        yield tmp_path
    finally:
        # Lazily: a test that failed may still hold a file.
        subprocess.run(["umount", "--lazy", str(tmp_path)], check=True)


def write_until_full(root: Path, settings: SpoolSettings) -> SpoolError:
    """Count up until there is no room; return the error."""
    with pytest.raises(SpoolError) as caught:
        write_for_ever(root, settings)
    return caught.value


def write_for_ever(root: Path, settings: SpoolSettings) -> None:
    with SpoolWriter(root, settings) as writer:
        track = open_track(writer)
        n = first = max(0, track.resume.base_ns)
        while True:
            track.write(rows(n, 1000), (n + 1000, NOTHING), n + 1000, n)
            n += 1000
            if n - first == settings.segment_rows and first == 0:
                # It is listed by another thread, which the next segment would leave no room.
                _wait_for_a_listed_segment(root)


def _wait_for_a_listed_segment(root: Path) -> None:
    wait_until(
        lambda: any(track.poll() for track in Spool(root).tracks()), "a segment to be listed"
    )


@pytest.mark.parametrize("segment_rows", [20_000, 50_000])
@pytest.mark.parametrize("sync", ["segment", 1])
def test_a_full_disk_keeps_what_is_listed(small_disk: Path, segment_rows: int, sync: int) -> None:
    settings = SpoolSettings(segment_rows=segment_rows, segment_age_ns=10**12, sync=sync)
    error = write_until_full(small_disk, settings)
    assert error.exit_code == 1
    assert "no space left on device" in str(error)
    assert "rows are lost" in str(error)
    assert error.hint is not None
    track = only_track(small_disk)
    listed = all_numbers(track)
    assert listed == list(range(len(listed)))
    assert len(listed) >= segment_rows
    assert track.damage == []


def test_a_disk_that_stays_full_is_told_again_and_room_is_used(small_disk: Path) -> None:
    settings = SpoolSettings(segment_rows=20_000, segment_age_ns=10**12)
    write_until_full(small_disk, settings)
    written = [path.stat().st_size for path in folder_of(small_disk).glob("segment-*")]
    segments = [entry for entry in only_track(small_disk).poll() if entry.kind == "segment"]
    write_until_full(small_disk, settings)
    track = only_track(small_disk)
    listed = all_numbers(track)
    assert listed == list(range(len(listed)))
    # One segment, or two: the disk may be full where the next one has its name and no byte.
    assert [(lost.segments, lost.segment_bytes) for lost in track.lost] == [
        (len(written) - len(segments), sum(written) - sum(entry.size_bytes for entry in segments))
    ]


def test_where_there_is_no_room_to_tell_of_a_loss_it_is_made(small_disk: Path) -> None:
    write_run(small_disk, 1)
    fill_page(folder_of(small_disk) / MANIFEST)
    unlisted = folder_of(small_disk) / segment_name(1)
    unlisted.write_bytes(bytes(20_000))
    fill(small_disk / "filler")
    write_run(small_disk)
    assert not unlisted.exists()
    track = only_track(small_disk)
    track.poll()
    assert track.lost == [Lost(segments=1, segment_bytes=20_000)]
    assert track.damage == []


def fill_page(path: Path) -> None:
    """Add short lines until a run's line needs another page of the disk."""
    writer = ManifestWriter(path.parent)
    while 4096 - path.stat().st_size % 4096 > 150:
        writer.append(Entry("punctuation", None, 0, 0, 0, (1, NOTHING), 1, 0, 0, 0))


def fill(path: Path) -> None:
    with suppress(OSError), path.open("wb", buffering=0) as stream:
        while True:
            stream.write(bytes(4096))


def test_a_file_that_may_not_grow_keeps_what_is_listed(tmp_path: Path) -> None:
    settings = SpoolSettings(segment_rows=20_000, segment_age_ns=10**12)
    write_run(tmp_path, 5_000)
    with files_no_larger_than(100_000):
        error = write_until_full(tmp_path, settings)
    assert (error.exit_code, "file too large" in str(error)) == (1, True)
    assert all_numbers(only_track(tmp_path)) == list(range(5_000))
    write_run(tmp_path, 10)
    track = only_track(tmp_path)
    assert all_numbers(track) == list(range(5_010))
    assert [lost.segments for lost in track.lost] == [1]


def test_the_tracks_beside_one_that_failed_are_listed(tmp_path: Path) -> None:
    with SpoolWriter(tmp_path, BY_HAND) as writer:
        ports = [("small", "eth0"), ("large", "eth0")]
        small, large = writer.open(query_set("small", "large"), ports).values()
        small.write(rows(0, 10), (10, NOTHING), 10, 0)
        with files_no_larger_than(10_000), pytest.raises(SpoolError) as caught:
            large.write(rows(0, 50_000), (10, NOTHING), 10, 0)
        with pytest.raises(SpoolError) as again:
            large.write(rows(0, 1), (10, NOTHING), 10, 1)
        assert again.value is caught.value
    (track,) = Spool(tmp_path).tracks("small")
    assert all_numbers(track) == list(range(10))


def test_a_line_is_written_wholly_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / MANIFEST
    line = Entry("end", None, 0, 0, 0, (1, 2), 3, 4, 5, 6)
    writer = ManifestWriter(path.parent)
    writer.append(line)
    before = path.read_bytes()
    with files_no_larger_than(len(before) + 30), pytest.raises(OSError, match="too large"):
        writer.append(line)
    assert path.read_bytes() == before
    writer.append(line)
    assert read_roll(path)[0] == [line, line]


def test_what_the_listing_thread_meets_is_raised(tmp_path: Path) -> None:
    with pytest.raises(SpoolError, match="cannot list") as caught:
        write_lines_until_full(tmp_path)
    assert caught.value.exit_code == 1
    track = only_track(tmp_path)
    found = all_numbers(track)
    assert found == list(range(len(found)))
    assert len(found) > 20
    assert track.damage == []
    write_run(tmp_path, 1)  # in this process, which has let the track go


def test_a_close_that_fails_behind_all_that_was_written_costs_nothing(tmp_path: Path) -> None:
    """Of the descriptor that keeps others from the folder."""
    writer = SpoolWriter(tmp_path, BY_HAND)
    track = open_track(writer)
    track.write(rows(0, 3), (3, NOTHING), 3, 0)
    assert writer._lock is not None
    os.close(writer._lock)
    writer.close()
    (found,) = Spool(tmp_path).tracks()
    assert sum(entry.rows for entry in found.poll()) == 3


def write_lines_until_full(root: Path) -> None:
    with SpoolWriter(root, replace(BY_HAND, segment_rows=1, sync=NEVER_NS)) as writer:
        track = open_track(writer)
        with files_no_larger_than(10_000):
            for n in range(10**9):
                track.write(rows(n, 1), (n, NOTHING), n, n)


PLACES = {
    "a file": "file",
    "below a file": "file/spool",
    "no folder for anybody": "/proc/spool",
    "too long a name": "x" * 300,
}


@pytest.mark.parametrize("name", PLACES)
def test_a_place_that_cannot_be_written(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").touch()
    root = tmp_path / PLACES[name]
    with pytest.raises(SpoolError, match="cannot write a spool at") as caught:
        SpoolWriter(root)
    assert caught.value.exit_code == 2
    assert str(root) in str(caught.value)


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(SpoolError, match="neither empty nor a spool") as caught:
        SpoolWriter(tmp_path)
    assert caught.value.exit_code == 2
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("file", ["progress", "sets"])
def test_a_folder_of_ours_whose_place_is_taken_by_a_file(tmp_path: Path, file: str) -> None:
    write_run(tmp_path)
    shutil.rmtree(tmp_path / file)
    (tmp_path / file).touch()
    with SpoolWriter(tmp_path) as writer, pytest.raises(SpoolError) as caught:
        open_track(writer)
    assert caught.value.exit_code == 2


def test_a_folder_without_permission(tmp_path: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may write anywhere")
    tmp_path.chmod(0o500)
    with SpoolWriter(tmp_path) as writer, pytest.raises(SpoolError, match="permission") as caught:
        open_track(writer)
    tmp_path.chmod(0o700)
    assert caught.value.exit_code == 2


def test_a_folder_that_is_read_only(small_disk: Path) -> None:
    write_run(small_disk, 10)
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    with SpoolWriter(small_disk) as writer, pytest.raises(SpoolError, match="read-only") as caught:
        open_track(writer)
    assert caught.value.exit_code == 2
    assert all_numbers(only_track(small_disk)) == list(range(10))


def test_a_folder_that_vanishes(tmp_path: Path) -> None:
    root = tmp_path / "spool"
    writer = SpoolWriter(root, BY_HAND)
    track = open_track(writer)
    root.rename(tmp_path / "elsewhere")
    with pytest.raises(SpoolError, match="no such file"):
        track.write(rows(0, 10), (END, NOTHING), END, 0, is_end=True)
    with pytest.raises(SpoolError, match="no such file"):
        writer.close()
    assert not root.exists()
