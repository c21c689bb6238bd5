# SPDX-License-Identifier: Apache-2.0
"""The account of several spools, over restarts: what was put in is what became of it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark")

from spark.readers import contents, packets, reader_of
from spark.test_damage import _delete_old, segment_of
from spark.written import Written, seconds

from gigastream.spool import Spool, arrivals
from gigastream.spool.layout import READERS
from spark_sink.account import Reached, TrackAccount, accounts
from spark_sink.offsets import from_json
from spark_sink.options import parse
from spark_sink.places import spool_name
from spark_sink.source import SpoolStreamReader


class Reading:
    """A query whose process begins anew with every look, as after a crash."""

    def __init__(self, folder: Path, *roots: Path, **options: str) -> None:
        self.roots = roots
        self.options = {"reader": "job", "onDamage": "skip", "damageLog": str(folder), **options}
        self.at: Any = None
        self.rows = 0

    def reader(self) -> SpoolStreamReader:
        return reader_of(*self.roots, **self.options)

    def read(self, micro_batches: int = 1) -> None:
        """Read on; Spark commits a micro-batch when it plans the next."""
        reader = self.reader()
        if self.at is None:
            self.at = reader.initialOffset()
        for _ in range(micro_batches):
            end = json.loads(json.dumps(reader.latestOffset(self.at, reader.getDefaultReadLimit())))
            self.rows += len(contents(reader, self.at, end)[0])
            self.at = end
            reader.commit(end)

    def accounts(self) -> dict[str, TrackAccount]:
        """By spool, that of its one track."""
        given = {"paths": json.dumps([str(root) for root in self.roots]), **self.options}
        reached = Reached(from_json(self.at))
        found = list(accounts("query", parse(given), reached))
        assert all(each.adds_up for each in found), found
        assert sum(each.read for each in found) == self.rows, "as many as tasks have read"
        return {Path(each.spool).name: each for each in found}


@pytest.fixture(autouse=True)
def _nothing_is_on_its_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrivals, "PATIENCE_SECONDS", 0.0)


def write(root: Path, *sizes: int, first: int = 1, live: bool = False) -> Path:
    """Segments of so many rows on eth0."""
    steps = [(packets(*[first + n] * size), seconds(first + n)) for n, size in enumerate(sizes)]
    Written(root, live=("eth0",) if live else ()).write("eth0", steps)
    return root


def test_pruned_damaged_and_waiting_rows_are_what_was_not_read(tmp_path: Path) -> None:
    pruned, damaged = write(tmp_path / "pruned", 2, 3), write(tmp_path / "damaged", 4, 5, 6)
    _delete_old(pruned)
    write(pruned, 7, 8, first=20)
    segment_of(damaged, 1).write_bytes(b"")
    reading = Reading(tmp_path / "log", pruned, damaged, maxSegmentsPerTrigger="2")
    waits = []
    for _ in range(4):
        reading.read()
        found = reading.accounts()
        waits.append(sum(each.waiting for each in found.values()))
        assert found["pruned"].put == sum((2, 3, 1, 7, 8))
        assert found["damaged"].put == sum((4, 5, 6))
    assert waits == sorted(waits, reverse=True)
    assert waits[-1] == 0 < waits[0]
    assert (found["pruned"].gone, found["damaged"].damaged) == (6, 5)
    assert reading.rows == 4 + 6 + 7 + 8


def test_what_retention_takes_behind_the_reader_has_been_read(tmp_path: Path) -> None:
    root = write(tmp_path / "spool", 2, 3)
    reading = Reading(tmp_path / "log", root)
    reading.read()
    _delete_old(root)
    assert reading.accounts()["spool"].read == 5
    reading.read()
    found = reading.accounts()["spool"]
    assert (found.put, found.read, found.gone) == (6, 6, 0)


def test_what_came_before_latest_was_skipped(tmp_path: Path) -> None:
    root = write(tmp_path / "spool", 2, 3)
    reading = Reading(tmp_path / "log", root, startingAt="latest")
    reading.read()
    write(root, 4, first=10)
    reading.read()
    found = reading.accounts()["spool"]
    assert (found.put, found.skipped, found.read) == (9, 5, 4)


@pytest.mark.parametrize("torn", ["", '{"reader": "job", "segm'])
def test_what_was_skipped_is_known_behind_a_commit_that_a_power_cut_tore(
    tmp_path: Path, torn: str
) -> None:
    root = write(tmp_path / "spool", 2, 3)
    reading = Reading(tmp_path / "log", root, startingAt="latest")
    reading.read()
    write(root, 4, first=10)
    (commit,) = root.rglob(f"{READERS}/job.json")
    commit.write_text(torn)
    assert reading.accounts()["spool"].skipped == 5
    reading.read()
    found = reading.accounts()["spool"]
    assert (found.put, found.skipped, found.read) == (9, 5, 4)


def test_what_nobody_knows_is_not_said_to_be_nothing(tmp_path: Path) -> None:
    root = write(tmp_path / "spool", 2, 3)
    reading = Reading(tmp_path / "log", root, startingAt="latest")
    reading.read()
    shutil.rmtree(next(root.rglob(READERS)))
    write(root, 4, first=10)
    reading.read()
    (track,) = Spool(root).tracks()
    assert track.passed("job") is None


def test_a_task_that_is_run_twice_damages_nothing_twice(tmp_path: Path) -> None:
    root = write(tmp_path / "spool", 2, 3)
    segment_of(root, 0).unlink()
    reading = Reading(tmp_path / "log", root)
    reading.read()
    reading.at = None
    reading.rows = 0
    reading.read()
    found = reading.accounts()["spool"]
    assert (found.put, found.damaged, found.read) == (5, 2, 3)
    (noted,) = (path for path in (tmp_path / "log").rglob("*") if path.is_file())
    assert noted.name == "0"
    assert noted.parent.is_relative_to(tmp_path / "log" / spool_name(str(root)))


def test_generations_of_one_stream_are_one_account(tmp_path: Path) -> None:
    live = Written(tmp_path / "spool", live=("eth0",))
    reading = Reading(tmp_path / "log", live.root)
    for second in (1, 11, 21):
        live.write("eth0", [(packets(second, second), seconds(second))], ends=True)
    reading.read(3)
    found = reading.accounts()["spool"]
    assert (found.put, found.read, found.waiting) == (6, 6, 0)
