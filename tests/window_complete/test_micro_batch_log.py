# SPDX-License-Identifier: Apache-2.0
"""The checkpoint: what was begun is begun again, what is done is done."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

pytest.importorskip("pyspark")

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
