# SPDX-License-Identifier: Apache-2.0
"""When things are made durable, seen at the calls themselves; and that the engine need not wait."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path

import pytest

from gigastream.spool import NOTHING, SpoolSettings, SpoolWriter, TrackWriter, track_log
from gigastream.spool.files import sync
from gigastream.spool.layout import MANIFEST, segment_name
from gigastream.spool.manifest import ManifestWriter, read_roll
from gigastream.spool.publisher import Publisher
from tests.spool.made import BY_HAND, NEVER_NS, folder_of, open_track, rows, write_run
from tests.waiting import PATIENCE_S, wait_until

IN_TENS = replace(BY_HAND, segment_rows=10)


class Disk:
    """Looks on while files are synced, and can hold them up."""

    def __init__(self, folder: Path) -> None:
        self.seen: list[tuple[str, int]] = []
        """What was synced, and how many segments were listed then."""
        self.is_open = threading.Event()
        self.is_open.set()
        self._folder = folder

    def sync(self, path: Path) -> None:
        self.is_open.wait()
        sync(path)
        self.saw(path.name)

    def saw(self, name: str) -> None:
        manifest = self._folder / MANIFEST
        entries = read_roll(manifest)[0] if manifest.exists() else []
        self.seen.append((name, sum(entry.kind == "segment" for entry in entries)))


@pytest.fixture
def disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Disk:
    disk = Disk(folder_of(tmp_path))
    monkeypatch.setattr(track_log, "sync", disk.sync)
    return disk


def write_tens(track: TrackWriter, first: int, count: int) -> None:
    for n in range(first, first + 10 * count, 10):
        track.write(rows(n, 10), (n + 10, NOTHING), n + 10, n)


def test_a_segment_and_its_name_are_durable_before_it_is_listed(tmp_path: Path, disk: Disk) -> None:
    with SpoolWriter(tmp_path, IN_TENS) as writer:
        write_tens(open_track(writer), 0, 2)
    assert disk.seen == [
        ("segment-0000000000.arrows", 0),
        ("000001", 0),
        ("segment-0000000001.arrows", 1),
        ("000001", 1),
    ]


@pytest.mark.parametrize("is_end", [False, True])
def test_the_manifest_is_durable_behind_its_segments_and_ends(
    tmp_path: Path, disk: Disk, monkeypatch: pytest.MonkeyPatch, is_end: bool
) -> None:
    with SpoolWriter(tmp_path, IN_TENS) as writer:
        track = open_track(writer)
        real = ManifestWriter.sync
        monkeypatch.setattr(
            ManifestWriter, "sync", lambda manifest: (real(manifest), disk.saw("manifest"))
        )
        write_tens(track, 0, 1)
        track.write(None, (20, NOTHING), 20, 20, is_end=is_end)
    assert disk.seen[-1] == ("manifest", 1)


def test_a_loss_is_told_durably_before_what_was_lost_is_deleted(
    tmp_path: Path, disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_run(tmp_path, 10)
    unlisted = folder_of(tmp_path) / segment_name(1)
    unlisted.write_bytes(b"rows")
    seen: list[tuple[int, bool]] = []
    real = ManifestWriter.sync

    def see(manifest: ManifestWriter) -> None:
        real(manifest)
        entries, _ = read_roll(folder_of(tmp_path) / MANIFEST)
        seen.append((sum(entry.kind == "run" for entry in entries), unlisted.exists()))

    monkeypatch.setattr(ManifestWriter, "sync", see)
    write_run(tmp_path)
    assert seen[0] == (2, True)
    assert not unlisted.exists()


def test_under_a_period_all_is_listed_first_and_durable_at_the_end(
    tmp_path: Path, disk: Disk
) -> None:
    with SpoolWriter(tmp_path, replace(IN_TENS, sync=NEVER_NS)) as writer:
        write_tens(open_track(writer), 0, 3)
    names = [f"segment-{n:010}.arrows" for n in range(3)]
    assert disk.seen == [(name, 3) for name in [*names, "000001"]]


def test_a_period_that_has_passed_makes_durable_by_itself(tmp_path: Path, disk: Disk) -> None:
    with SpoolWriter(tmp_path, replace(IN_TENS, sync=20_000_000)) as writer:
        write_tens(open_track(writer), 0, 1)
        wait_until(lambda: ("000001", 1) in disk.seen, "a sync")


def test_the_writer_goes_on_while_the_disk_is_slow_up_to_four_segments(
    tmp_path: Path, disk: Disk
) -> None:
    with SpoolWriter(tmp_path, IN_TENS) as writer:
        track = open_track(writer)
        disk.is_open.clear()
        write_tens(track, 0, 4)
        fifth = threading.Thread(target=write_tens, args=(track, 40, 1))
        fifth.start()
        fifth.join(0.2)
        assert fifth.is_alive()
        disk.is_open.set()
        fifth.join(PATIENCE_S)
        assert not fifth.is_alive()
    entries, _ = read_roll(folder_of(tmp_path) / MANIFEST)
    assert [entry.segment for entry in entries if entry.segment is not None] == list(range(5))


def test_a_mistake_in_the_thread_reaches_the_writer() -> None:
    def fail() -> None:
        raise ZeroDivisionError

    done: list[int] = []
    publisher = Publisher(lambda: None)
    publisher.submit(fail)
    for n in range(10):
        try:
            publisher.submit_segment(lambda n=n: done.append(n))  # type: ignore[misc]
        except ZeroDivisionError:
            break
    with pytest.raises(ZeroDivisionError):
        publisher.close()
    assert done == []


def test_an_interpreter_that_ends_is_not_held_up(tmp_path: Path) -> None:
    before = set(threading.enumerate())
    writer = SpoolWriter(tmp_path, SpoolSettings())
    open_track(writer)
    (thread,) = set(threading.enumerate()) - before
    assert thread.daemon
    writer.close()
    assert not thread.is_alive()
