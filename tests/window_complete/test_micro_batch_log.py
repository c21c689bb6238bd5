# SPDX-License-Identifier: Apache-2.0
"""The checkpoint: what was begun is begun again, what is done is done."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pyarrow.fs
import pytest

pytest.importorskip("pyspark")

from spark_sink.checkpoint import read_json, write_new_json
from spark_sink.job_errors import JobError
from spark_sink.offsets import Position
from spark_sink.window_complete.micro_batch_log import KEPT, MicroBatch, MicroBatchLog

LET_GO = {"low": {"eth0": Position(1, 5, 60)}}


def batch(number: int, after_ms: int | None = 5) -> MicroBatch:
    held = {"low": {"eth0": Position(1, 2, -3)}}
    end = {"low": {"eth0": Position(1, 7, 90)}}
    return MicroBatch(number, held, end, after_ms, 6)


def test_nothing_has_begun(tmp_path: Path) -> None:
    found = MicroBatchLog(str(tmp_path / "not" / "there"))
    assert found.last is None
    assert found.is_done


def test_what_was_begun_is_found_again(tmp_path: Path) -> None:
    MicroBatchLog(str(tmp_path)).plan(batch(0, None))
    found = MicroBatchLog(str(tmp_path))
    assert (found.last, found.is_done) == (batch(0, None), False)
    assert found.done is None
    found.finish(LET_GO)
    found = MicroBatchLog(str(tmp_path))
    assert (found.last, found.is_done) == (batch(0, None), True)
    assert found.done == (batch(0, None), LET_GO)
    found.plan(batch(1))
    found = MicroBatchLog(str(tmp_path))
    assert (found.last, found.is_done, found.done) == (batch(1), False, None)


def test_what_an_earlier_version_has_done_is_done(tmp_path: Path) -> None:
    """It wrote nothing of what it had let go."""
    log = MicroBatchLog(str(tmp_path))
    log.plan(batch(0))
    log.finish(LET_GO)
    (tmp_path / "done" / "0").write_text("{}")
    found = MicroBatchLog(str(tmp_path))
    assert (found.is_done, found.done) == (True, None)


def test_the_last_ones_are_kept(tmp_path: Path) -> None:
    progress = MicroBatchLog(str(tmp_path))
    for number in range(3 * KEPT):
        progress.plan(batch(number))
        progress.finish(LET_GO)
    assert MicroBatchLog(str(tmp_path)).last == batch(3 * KEPT - 1)
    files = {name for name in os.listdir(tmp_path / "planned") if not name.startswith(".")}
    assert files == {str(number) for number in range(2 * KEPT, 3 * KEPT)}


@pytest.mark.parametrize("ahead", [1, KEPT + 3])
def test_of_two_jobs_one_goes_on(ahead: int, tmp_path: Path) -> None:
    """The other was away, and would count on: what it makes is known by its number."""
    first = MicroBatchLog(str(tmp_path))
    first.plan(batch(0))
    first.finish(LET_GO)
    second = MicroBatchLog(str(tmp_path))
    for number in range(1, 1 + ahead):
        second.plan(batch(number))
        second.finish(LET_GO)
    with pytest.raises(JobError, match="another job is at work"):
        first.plan(batch(1, 7))
    assert MicroBatchLog(str(tmp_path)).last == batch(ahead)


def test_of_two_that_begin_one_goes_on(tmp_path: Path) -> None:
    logs = [MicroBatchLog(str(tmp_path)) for _ in range(2)]
    logs[1].plan(batch(0))
    with pytest.raises(JobError, match="another job is at work"):
        logs[0].plan(batch(0, 7))


@pytest.mark.parametrize("number", [None, errno.EPERM, errno.EOPNOTSUPP])
def test_of_two_in_one_moment_one_goes_on(
    number: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both have looked; with second names, and on disks that have none."""
    if number is not None:
        monkeypatch.setattr(os, "link", failing(number))
    system = pyarrow.fs.LocalFileSystem()
    assert write_new_json(system, str(tmp_path / "7"), {"a": 1})
    assert not write_new_json(system, str(tmp_path / "7"), {"a": 2})
    assert read_json(system, str(tmp_path / "7")) == {"a": 1}
    assert os.listdir(tmp_path) == ["7"]


def failing(number: int) -> Callable[..., None]:
    def fail(*_: object) -> None:
        raise OSError(number, "no")

    return fail


def test_elsewhere_it_is_looked_for(tmp_path: Path) -> None:
    system = pyarrow.fs.SubTreeFileSystem(str(tmp_path), pyarrow.fs.LocalFileSystem())
    assert write_new_json(system, "7", {"a": 1})
    assert not write_new_json(system, "7", {"a": 2})


@pytest.mark.parametrize("text", ["", "{}", "3", '{"held": 3, "end": {}}', "{"])
def test_a_file_that_is_none_of_ours_is_an_error(text: str, tmp_path: Path) -> None:
    MicroBatchLog(str(tmp_path)).plan(batch(0))
    (tmp_path / "planned" / "0").write_text(text)
    with pytest.raises(JobError, match="checkpoint"):
        MicroBatchLog(str(tmp_path))


def test_a_folder_that_cannot_be_one_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(JobError, match="checkpoint"):
        MicroBatchLog(str(tmp_path / "file" / "checkpoint"))
