# SPDX-License-Identifier: Apache-2.0
"""A new checkpoint takes up at a point: which points there are, and which are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("pyspark")

from spark_command import written
from spark_command.written import QUERY, SETS

from gigastream.spool import Spool, layout
from spark_sink.checkpoint import JobIdentity, claim, part
from spark_sink.job_errors import JobError
from spark_sink.offsets import Position
from spark_sink.run import plan_of_paths
from spark_sink.savepoint import after_of
from spark_sink.window_complete.micro_batch_log import MicroBatch, MicroBatchLog

TEN = 1_795_600_800_000
"""2026-11-25 10:00:00 UTC."""


@pytest.fixture(scope="module")
def spool(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written.spool(tmp_path_factory.mktemp("spool") / "one")


def after(point: object, spool: Path) -> dict[str, int]:
    return after_of(str(point), plan_of_paths([str(spool)]), [str(spool)], {})


def checkpoint(folder: Path, spool: Path, *outputs: str) -> list[str]:
    """A job's, and the folders of its outputs."""
    job = JobIdentity(plan_of_paths([str(spool)]), ["a"], outputs or ["json"])
    return [part(str(folder), name) for name in claim(str(folder), job).parts.values()]


def whole_windows(folder: str, until_ms: int, *, is_done: bool = True) -> None:
    log = MicroBatchLog(folder)
    at = {"query_low": {"default": Position(1, 1, until_ms * 10**6)}}
    log.plan(MicroBatch(0, at, at, None, until_ms))
    if is_done:
        log.finish(at)


@pytest.mark.parametrize(
    "text",
    ["2026-11-25 10:00:00", "2026-11-25T12:00:00+02:00", "2026-11-25 10:00:00Z"],
)
def test_a_time_is_a_point(text: str, spool: Path) -> None:
    assert after(text, spool) == {"query": TEN}


def test_another_checkpoint_is_a_point(spool: Path, tmp_path: Path) -> None:
    (folder,) = checkpoint(tmp_path, spool)
    assert after(tmp_path, spool) == {"query": 0}, "nothing has left there yet"
    whole_windows(folder, TEN)
    assert after(tmp_path, spool) == {"query": TEN}


def test_a_checkpoint_that_was_cut_is_none(spool: Path, tmp_path: Path) -> None:
    (folder,) = checkpoint(tmp_path, spool)
    whole_windows(folder, TEN, is_done=False)
    with pytest.raises(JobError, match="of query was begun and is not done") as error:
        after(tmp_path, spool)
    assert error.value.hint == "run that job once more, with --trigger now"


def test_outputs_that_are_not_equally_far_are_none(spool: Path, tmp_path: Path) -> None:
    for number, folder in enumerate(checkpoint(tmp_path, spool, "json", "csv")):
        whole_windows(folder, TEN + number)
    with pytest.raises(JobError, match="not equally far of the query query"):
        after(tmp_path, spool)


def test_what_is_neither_is_told(spool: Path, tmp_path: Path) -> None:
    with pytest.raises(JobError, match="neither a time nor a checkpoint"):
        after(tmp_path / "nothing", spool)


def test_rows_that_leave_at_once_have_no_point(tmp_path: Path) -> None:
    two = written.spool(tmp_path / "two", SETS)
    with pytest.raises(JobError, match="rows of resets do not all leave with windows"):
        after("2026-11-25", two)


def test_rows_of_a_join_left_when_they_matched(tmp_path: Path) -> None:
    """In Spark's store; in whole windows they leave when a punctuation says so."""
    join = """SELECT a.time, a.srcIP, b.len FROM TCP a, UDP b
        WHERE a.time >= b.time - 2 AND a.time <= b.time AND a.srcIP = b.srcIP"""
    root = written.spool(tmp_path / "spool", join)
    (folder,) = checkpoint(tmp_path / "job", root)
    with pytest.raises(JobError, match="left Spark's store when they matched") as error:
        after(tmp_path / "job", root)
    assert error.value.exit_code == 2
    whole_windows(folder, TEN)
    assert after(tmp_path / "job", root) == {"query": TEN}


def test_rows_that_are_deleted_are_missed(tmp_path: Path) -> None:
    """And those of windows that are over are not."""
    root = written.spool(tmp_path / "spool", QUERY)
    (track,) = Spool(root).tracks()
    (entry,) = (entry for entry in track.poll() if entry.is_segment)
    assert entry.ranges is not None
    assert entry.ranges[0] is not None
    last = (entry.ranges[0][1] + 1) * 60
    Path(track.folder, layout.RETAINED).write_text(
        f'{{"first": 1, "segments": 1, "rows": {entry.rows}, "size_bytes": 1}}'
    )
    after(_text(last), root)
    with pytest.raises(JobError, match="retention has deleted rows"):
        after(_text(last - 1), root)


def _text(second: int) -> str:
    from datetime import UTC, datetime

    return datetime.fromtimestamp(second, UTC).isoformat()


def test_a_checkpoint_takes_up_where_it_has_begun(spool: Path, tmp_path: Path) -> None:
    asked: list[str] = []

    def job(point: str | None) -> JobIdentity:
        def found(text: str) -> dict[str, int]:
            asked.append(text)
            return {"query": TEN}

        return JobIdentity(plan_of_paths([str(spool)]), ["a"], ["json"], (), {}, point, found)

    first = claim(str(tmp_path), job("then"))
    for name in first.parts.values():
        (tmp_path / name / "planned").mkdir(parents=True)
        (tmp_path / name / "planned" / "0").touch()
    for point in (None, "then"):
        assert claim(str(tmp_path), job(point)).after_ms == {"query": TEN}
    assert asked == ["then"], "another checkpoint may have gone on"
    with pytest.raises(JobError, match="has not begun at now"):
        claim(str(tmp_path), job("now"))
