# SPDX-License-Identifier: Apache-2.0
"""kill -9 of a writer at random moments: what is listed is all there, and the rest is told of."""

from __future__ import annotations

import multiprocessing
import random
import time
from pathlib import Path

import pytest

from gigastream.spool import Lost
from gigastream.spool.layout import MANIFEST, segment_of
from tests.spool.endless_writer import Sync, write_on
from tests.spool.made import Kept, all_numbers, folder_of, numbers, only_track, write_run

KILLS = 25
HOLDS = 3
"""The kill that leaves a whole segment which nothing lists, however quick the listing is."""


def run_and_kill(root: Path, sync: Sync, seconds: float, said: int, holds: bool) -> None:
    """Have a forked writer write for a while, from when it has said so much.

    Nothing: from its start; then that its run has begun, that it has cut a segment and, if it
    holds, that it has left one unlisted.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([write_on.__module__])
    ours, its = context.Pipe()
    process = context.Process(target=write_on, args=(root, sync, its, holds))
    process.start()
    its.close()  # so that one that fails is not waited for
    for _ in range(said):
        ours.recv()
    time.sleep(seconds)
    process.kill()
    process.join()
    assert process.exitcode == -9


class Follower:
    """A reader that goes on across the kills, and sees every row once and in order."""

    def __init__(self, track: Kept) -> None:
        self.track = track
        self.rows = 0

    def check(self) -> None:
        """Read what is new; the bounds are those of the last row."""
        for entry in self.track.poll():
            found = numbers(self.track, entry)
            assert found == list(range(self.rows, self.rows + entry.rows))
            self.rows += entry.rows
            assert max(0, entry.base_ns) == self.rows
        assert self.track.damage == []

    @property
    def losses(self) -> list[Lost | None]:
        return [entry.lost for entry in self.track.entries if entry.kind == "run"]


def left_behind(root: Path) -> Lost:
    """Return what the next run has to tell of, as it is seen from outside."""
    track, folder = only_track(root), folder_of(root)
    track.poll()
    listed = {entry.segment for entry in track.entries}
    paths = [path for path in folder.iterdir() if segment_of(path.name) is not None]
    unlisted = [path for path in paths if segment_of(path.name) not in listed]
    torn_bytes = len((folder / MANIFEST).read_bytes().rpartition(b"\n")[2])
    return Lost(torn_bytes, len(unlisted), sum(path.stat().st_size for path in unlisted))


@pytest.mark.parametrize("sync", ["segment", "period"])
def test_a_killed_writer_leaves_a_spool_that_is_right(tmp_path: Path, sync: Sync) -> None:
    chance = random.Random(sync)
    write_run(tmp_path, 10)
    reader, left = Follower(only_track(tmp_path)), Lost()
    reader.check()
    for kill in range(KILLS):
        # Every fifth may not come further than the imports, or into the recovery of the last.
        begun = kill % 5 > 0
        # However slow a start is: half of the others are in the midst of segments.
        holds = kill == HOLDS
        said = begun + (begun and kill % 2) + holds
        run_and_kill(tmp_path, sync, chance.uniform(0, 0.05), said, holds)
        told = len(reader.losses)
        reader.check()
        new = reader.losses[told:]
        assert new == [left] if begun else new in ([], [left])
        left = left_behind(tmp_path)
    write_run(tmp_path, 10)
    reader.check()
    assert reader.losses[-1] == left
    assert left_behind(tmp_path) == Lost()
    assert sum(lost.segments for lost in reader.track.lost) > 0
    assert all_numbers(only_track(tmp_path)) == list(range(reader.rows))
