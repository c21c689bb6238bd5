# SPDX-License-Identifier: Apache-2.0
"""kill -9 of a shipper at random moments while a writer writes: every row once, and in order."""

from __future__ import annotations

import multiprocessing
import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from shipping.s3_server import S3Server
from shipping.shippers import ShippedReader, ShipProcess, objects, track_at
from spool.endless_writer import write_on
from spool.made import all_numbers, only_track, write_run

from tests.cli.command import gigastream
from tests.waiting import wait_until

KILLS = 12
KILLS_TO_S3 = 5
LEAST_ROWS = 1000


@contextmanager
def writing_on(root: Path) -> Iterator[None]:
    """A writer beside, which is killed at the end."""
    context = multiprocessing.get_context("forkserver")
    ours, its = context.Pipe()
    process = context.Process(target=write_on, args=(root, "period", its))
    process.start()
    its.close()  # so that one that fails is not waited for
    ours.recv()
    try:
        yield
    finally:
        process.kill()
        process.join()


def rows_listed(root: Path) -> int:
    return sum(entry.rows for entry in only_track(root).poll())


def kill_often(kills: int, shipper: ShipProcess, reader: ShippedReader) -> None:
    chance = random.Random(kills)
    for _ in range(kills):
        shipper.begin()
        time.sleep(chance.uniform(0.2, 1.5))  # some of it is what imports take
        shipper.kill()
        reader.check()


def check_all(root: Path, destination: str | Path, reader: ShippedReader) -> None:
    """Behind the end of the writer all of its rows are there, and none twice."""
    write_run(root, 10, end=True)
    assert gigastream("ship", root, str(destination)).code == 0
    wanted = all_numbers(only_track(root))
    reader.wait_for(len(wanted))
    assert reader.rows == len(wanted) > LEAST_ROWS
    assert all_numbers(track_at(destination)) == wanted


def killed_and_begun(folder: Path, there: str, kills: int) -> str:
    """What a shipper has said that was killed so often; its destination has all."""
    root = folder / "spool"
    write_run(root, 10)
    shipper = ShipProcess(root, there, folder / "log")
    shipper.begin()
    reader = ShippedReader(there)
    shipper.kill()
    with writing_on(root):
        kill_often(kills, shipper, reader)
        wait_until(lambda: rows_listed(root) > LEAST_ROWS, "rows of the writer")
    check_all(root, there, reader)
    return shipper.said()


def test_a_shipper_that_is_killed_goes_on(tmp_path: Path) -> None:
    there = tmp_path / "there"
    told = killed_and_begun(tmp_path, str(there), KILLS)
    assert len(objects(there)) > 1
    assert "Traceback" not in told
    assert "does not answer" not in told


@pytest.mark.long
def test_a_shipper_to_s3_that_is_killed_goes_on(s3: S3Server, tmp_path: Path) -> None:
    assert "Traceback" not in killed_and_begun(tmp_path, s3.uri("kills"), KILLS_TO_S3)
