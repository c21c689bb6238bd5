# SPDX-License-Identifier: Apache-2.0
"""What is wrong, and what to do: a notebook shows the text of an error alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark")

from cli.command import gigastream
from spark_command import written
from spark_command.written import SETS

from gigastream.spool import Spool, SpoolReadError
from gigastream.spool.plan import SpooledPlanError
from spark_sink.errors import SpoolSourceError
from spark_sink.job_errors import JobError
from spark_sink.run import run_query
from spark_sink.streaming import failure
from spark_sink.tracks import open_spool
from spark_sink.views import create_temp_views


@pytest.fixture(scope="module")
def spool(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written.spool(tmp_path_factory.mktemp("spool") / "demo", SETS)


REFUSED: tuple[tuple[type[Exception], dict[str, Any], str], ...] = (
    (JobError, {}, "there are 2 queries\nhint: output is one of talkers, resets"),
    (JobError, {"output": "x"}, "there is no query x\nhint: output is one of talkers, resets"),
    (JobError, {"parameters": {"x": "1"}}, "parameters are of a query that is given"),
    (SpooledPlanError, {"query": "SELECT len FROM UDP"}, "\nhint: name the query as it was"),
)


@pytest.mark.parametrize(("kind", "asked", "said"), REFUSED)
def test_the_text_has_the_hint_once(
    spool: Path, kind: type[Exception], asked: dict[str, Any], said: str
) -> None:
    with pytest.raises(kind) as refusal:
        run_query(spool, **asked)
    assert said in str(refusal.value)
    assert str(refusal.value).count("\nhint: ") == 1


def test_what_is_no_spool_is_told_with_its_hint(tmp_path: Path) -> None:
    for ask in (run_query, create_temp_views):
        with pytest.raises(SpoolReadError, match=r"is no spool\nhint: a run with"):
            ask(tmp_path)  # type: ignore[operator]
        with pytest.raises(JobError, match=r"no spool is given\nhint: "):
            ask([])  # type: ignore[operator]
        with pytest.raises(JobError, match=r"the path of a spool is empty\nhint: "):
            ask(["", tmp_path])  # type: ignore[operator]


def test_generations_that_are_there_are_named(spool: Path, tmp_path: Path) -> None:
    with pytest.raises(SpoolReadError, match="has no generation 77") as refusal:
        Spool(spool, 77)
    assert refusal.value.hint == "there are: 1"
    with pytest.raises(SpoolSourceError, match=r"has no generation 77\nhint: there are: 1"):
        open_spool(str(spool), 77)
    with pytest.raises(SpoolReadError, match="is no spool"):
        Spool(tmp_path, 77)


def test_the_hint_of_a_failed_query_comes_with_it() -> None:
    """Through Python's traceback and Java's text, or straight."""
    error = SpoolSourceError("retention has deleted it", "begin again")
    java = f"[X] d: Traceback\n  File\nspark_sink.errors.{type(error).__name__}: {error}\n\nJVM"
    for met in (error, RuntimeError(java)):
        said = failure(met)
        assert (str(said), said.hint) == ("the job failed: retention has deleted it", "begin again")
    assert failure(RuntimeError("x\nhint of y")).hint is None


def test_an_output_that_is_given_twice_is_named_as_it_was(spool: Path, tmp_path: Path) -> None:
    twice = ("-o", f"duckdb:{tmp_path}/x.db") * 2
    checkpoint = tmp_path / "ck"
    result = gigastream("spark", "--spool", spool, "--checkpoint", checkpoint, *twice)
    assert result.code == 2
    assert f"the output duckdb:{tmp_path}/x.db is given twice\n" in result.err
    assert list(tmp_path.iterdir()) == []
