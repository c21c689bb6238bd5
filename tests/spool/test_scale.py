# SPDX-License-Identifier: Apache-2.0
"""What a spool costs: bytes, files, lines and descriptors are bounded by what is kept."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path

import pytest

from gigastream.liveness import Liveness
from gigastream.sessions.spool_feed import SpoolFeed
from gigastream.spool import END, NOTHING, Spool, SpoolWriter, manifest, track
from gigastream.spool.layout import roll_of
from gigastream.spool.writer import MOST_OPEN_FILES
from tests.spool.made import (
    BY_HAND,
    NEVER_NS,
    all_numbers,
    folder_of,
    numbers,
    only_track,
    open_track,
    query_set,
    rows,
    write_run,
)

STREAMS = [f"query{number}" for number in range(500)]
PORTS = [(stream, interface) for stream in STREAMS for interface in ("east", "west")]
LARGE_PLAN = {"low": STREAMS, "text": "x" * 100_000}


def files(root: Path) -> list[Path]:
    return [path for path in root.rglob("*") if path.is_file()]


def size_bytes(root: Path) -> int:
    return sum(path.stat().st_size for path in files(root))


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def test_a_thousand_tracks_cost_a_few_files_and_one_plan(tmp_path: Path) -> None:
    before = descriptors()
    with SpoolWriter(tmp_path) as writer:
        tracks = writer.open(query_set(*STREAMS, plan=LARGE_PLAN), PORTS)
        assert descriptors() <= before + 2
        assert len(tracks) == len(PORTS)
        found = Spool(tmp_path).tracks()
        assert len(found) == len(PORTS)
        assert all(track.poll() == [] for track in found)
        assert descriptors() <= before + 2
        for number in range(1, 4):
            for one in tracks.values():
                one.write(None, (number, NOTHING), number, number)
    assert len(files(tmp_path)) <= 6
    assert size_bytes(tmp_path) < 1_000_000
    assert {track.poll()[-1].base_ns for track in Spool(tmp_path).tracks()} == {3}
    with SpoolWriter(tmp_path) as writer:
        again = writer.open(query_set(*STREAMS, plan=LARGE_PLAN), PORTS)
        assert {one.resume.base_ns for one in again.values()} == {3}
        for one in again.values():
            one.write(None, (END, END), END, 9, is_end=True)
    assert len(files(tmp_path)) <= 6
    assert all(track.poll()[-1].kind == "end" for track in Spool(tmp_path).tracks())


def test_silence_costs_no_byte_however_long_it_is(tmp_path: Path) -> None:
    """A heartbeat each second: what is left of a minute of them is left of a day."""
    sizes = []
    start_ns = 1_795_261_920 * 10**9
    with SpoolWriter(tmp_path, BY_HAND) as writer:
        track = open_track(writer)
        track.write(rows(0, 1), (start_ns, NOTHING), start_ns, 0)
        track._cut()
        for second in range(86_400):
            now_ns = start_ns + second * 10**9
            track.write(None, (now_ns, NOTHING), now_ns, second)
            if second == 60:
                writer._publisher.drain()
                sizes.append(size_bytes(tmp_path))
    assert size_bytes(tmp_path) < sizes[0] + 1000
    entries = only_track(tmp_path).poll()
    assert [entry.kind for entry in entries] == ["run", "segment", "punctuation"]
    assert entries[-1].base_ns == start_ns + 86_399 * 10**9


def test_segments_of_many_tracks_hold_few_descriptors(tmp_path: Path) -> None:
    before, count = descriptors(), MOST_OPEN_FILES + 40
    ports = [(stream, "eth0") for stream in STREAMS[:count]]
    batch = rows(0, 1 << 14)
    with SpoolWriter(tmp_path, replace(BY_HAND, sync=NEVER_NS)) as writer:
        for one in writer.open(query_set(*STREAMS[:count]), ports).values():
            one.write(batch, (1, NOTHING), 1, 0)
        assert descriptors() <= before + MOST_OPEN_FILES + 3
    found = Spool(tmp_path).tracks()
    assert sum(entry.rows for track in found for entry in track.poll()) == count << 14
    assert descriptors() <= before + 1


@pytest.fixture
def short_rolls(monkeypatch: pytest.MonkeyPatch) -> None:
    """Manifests of about ten lines."""
    monkeypatch.setattr(manifest, "ROLL_BYTES", 2000)
    monkeypatch.setattr(track, "ROLL_BYTES", 2000)


def rolls(root: Path) -> list[int]:
    numbers = (roll_of(path.name) for path in folder_of(root).iterdir())
    return sorted(number for number in numbers if number is not None)


ONES = replace(BY_HAND, segment_rows=1, sync=NEVER_NS)


@pytest.mark.usefixtures("short_rolls")
def test_a_manifest_rolls_and_is_read_as_one(tmp_path: Path) -> None:
    reader = only_track(tmp_path) if folder_of(tmp_path).exists() else None
    for n in range(0, 100, 20):
        write_run(tmp_path, *[1] * 20, settings=ONES)
        reader = reader or only_track(tmp_path)
        assert all_numbers(reader) == list(range(n + 20))
    assert len(rolls(tmp_path)) > 5
    track = only_track(tmp_path)
    assert all_numbers(track) == list(range(100))
    assert (track.damage, reader.damage if reader else None) == ([], [])
    bases = [entry for entry in track.entries if entry.kind == "base"]
    assert [entry.rows for entry in bases] == [entry.segment for entry in bases]


@pytest.mark.usefixtures("short_rolls")
def test_manifests_go_with_the_segments_that_they_list(tmp_path: Path) -> None:
    write_run(tmp_path, *[1] * 30, settings=ONES)
    late = only_track(tmp_path)
    assert len(late.poll()) > 30
    segment_bytes = (folder_of(tmp_path) / "segment-0000000000.arrows").stat().st_size
    settings = replace(ONES, keep_bytes=5 * segment_bytes, keep_margin_ns=0)
    write_run(tmp_path, *[1] * 170, settings=settings)
    assert len(rolls(tmp_path)) <= 3
    fresh = only_track(tmp_path)
    assert len(fresh.poll()) < 40
    kept = [entry for entry in fresh.entries if entry.is_segment][-5:]
    assert [n for entry in kept for n in numbers(fresh, entry)] == list(range(195, 200))
    # A reader that was away finds its place, and what it has missed is known.
    feed = SpoolFeed(late.track, Liveness(), time.monotonic)
    assert feed.has_more
    while feed.has_more:
        list(feed.take())
    (account,) = feed.accounts
    assert account.rows == 5
    assert account.retired_rows + account.rows >= 170
    assert late.damage == []
    write_run(tmp_path, 1, settings=settings)
    assert all_numbers_kept(tmp_path)[-1] == 200


def all_numbers_kept(root: Path) -> list[int]:
    track = only_track(root)
    first = track.retained().first
    return [
        n
        for entry in track.poll()
        if entry.is_segment and (entry.segment or 0) >= first
        for n in numbers(track, entry)
    ]
