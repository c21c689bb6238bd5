# SPDX-License-Identifier: Apache-2.0
"""A first start that broke off leaves a checkpoint in which the same command goes on."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from cli.command import gigastream
from spark_command import written
from spark_session import why_no_spark

from spark_sink.job_errors import JobError
from spark_sink.spark_checkpoint import make_ready

SECONDS = 300
RESETS = "SELECT time, destIP, srcPort FROM TCP WHERE rst = 1"
LEFT = ("offsets/.0.4e486fa8.tmp", "commits/.0.crc", "metadata", ".metadata.crc", "state/0/x")
"""Of a start that a full disk or a kill has ended."""


def left(folder: Path, *more: str) -> None:
    for name in (*LEFT, *more):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def test_what_no_micro_batch_needs_is_removed(tmp_path: Path) -> None:
    left(tmp_path, "planned/0", "of somebody")
    make_ready(str(tmp_path))
    assert files(tmp_path) == {"planned/0", "of somebody"}


@pytest.mark.parametrize("number", ["offsets/0", "commits/0"])
def test_what_is_begun_stays(number: str, tmp_path: Path) -> None:
    left(tmp_path, number)
    (tmp_path / "metadata").write_text('{"id": "1"}')
    make_ready(str(tmp_path))
    assert files(tmp_path) == {*LEFT, number}


def test_a_damaged_identity_is_told(tmp_path: Path) -> None:
    left(tmp_path, "offsets/0")
    with pytest.raises(JobError, match="metadata is damaged") as error:
        make_ready(str(tmp_path))
    assert "--checkpoint" in str(error.value.hint)
    assert files(tmp_path) == {*LEFT, "offsets/0"}


def test_a_new_one_is_ready(tmp_path: Path) -> None:
    make_ready(str(tmp_path / "new"))
    assert not (tmp_path / "new").exists()


@pytest.mark.long
@pytest.mark.skipif(why_no_spark() is not None, reason=str(why_no_spark()))
def test_the_same_command_goes_on(tmp_path: Path) -> None:
    checkpoint = tmp_path / "checkpoint"
    words = ("spark", "--spool", written.spool(tmp_path / "spool", RESETS), "--trigger", "now")
    words += ("--checkpoint", checkpoint, "-o", "json")
    for _ in range(2):
        result = gigastream(*words, seconds=SECONDS)
        assert (result.code, len(result.lines)) == (0, 23), result.err
        shutil.rmtree(checkpoint / "0-query-json")  # as if the first had not come so far
        left(checkpoint / "0-query-json")
