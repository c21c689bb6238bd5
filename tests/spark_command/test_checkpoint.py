# SPDX-License-Identifier: Apache-2.0
"""A checkpoint is of one job: the same one comes back to it, another one is told."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from gigastream.plan import plan_queries
from gigastream.plan.plan import Plan
from gigastream.query_texts import QueryTexts, check_texts, inline_queries
from spark_sink.checkpoint import FILE, JobIdentity, claim, part
from spark_sink.job_errors import JobError
from spark_sink.places import spool_name, without_credentials
from tests.spool.made import write_run


def plan(query: str = "SELECT tb, count(*) AS n FROM PKT GROUP BY time/60 AS tb") -> Plan:
    return plan_queries(check_texts(QueryTexts(inline_queries((query,)))).queries)


def job() -> JobIdentity:
    return JobIdentity(plan(), ["/b", "/a"], ["parquet:/rows", "json"])


CHANGED = {
    "other queries": replace(
        job(), plan=plan("SELECT tb, count(*) AS n FROM PKT GROUP BY time/60 AS tb HAVING n > 1")
    ),
    "other spools": replace(job(), spools=["/a"]),
    "other outputs": replace(job(), outputs=["parquet:/others", "json"]),
}


def test_a_new_checkpoint_is_claimed_once(tmp_path: Path) -> None:
    folder = str(tmp_path / "new" / "checkpoint")
    first, second = claim(folder, job()), claim(folder, job())
    assert (first.is_back, second.is_back) == (False, True)
    assert first.reader == second.reader
    assert first.reader != claim(str(tmp_path / "another"), job()).reader
    assert [path.name for path in Path(folder).iterdir()] == [FILE]


def test_the_order_of_spools_and_outputs_is_no_difference(tmp_path: Path) -> None:
    claim(str(tmp_path), job())
    assert claim(str(tmp_path), replace(job(), spools=["/a", "/b"])).is_back


@pytest.mark.parametrize("what", CHANGED)
def test_another_job_is_told(what: str, tmp_path: Path) -> None:
    claim(str(tmp_path), job())
    with pytest.raises(JobError, match=f"belongs to a job with {what}") as error:
        claim(str(tmp_path), CHANGED[what])
    assert error.value.exit_code == 2
    assert "--checkpoint" in str(error.value.hint)
    assert claim(str(tmp_path), job()).is_back


def test_a_checkpoint_that_knows_paths_learns_identities(tmp_path: Path) -> None:
    """Earlier versions wrote down paths, and with them the password of a URI."""
    claim(str(tmp_path), replace(job(), spools=["/a", "s3://me:secret@host/b"]))
    now = replace(job(), spools=["1f", "2e"], paths=["s3://me:secret@host/b", "/a"])
    assert claim(str(tmp_path), now).is_back
    assert "secret" not in (tmp_path / FILE).read_text()
    assert claim(str(tmp_path), replace(now, paths=["/moved", "/a"])).is_back


def test_a_spool_is_known_by_what_it_is_and_not_by_where(tmp_path: Path) -> None:
    write_run(tmp_path / "here", 1)
    name = spool_name(str(tmp_path / "here"))
    assert name == spool_name(f"file://{tmp_path}/here")
    (tmp_path / "here").rename(tmp_path / "there")
    assert spool_name(str(tmp_path / "there")) == name
    assert without_credentials("s3://me:secret@host/b?key=1") == "s3://host/b"


@pytest.mark.parametrize("content", ["", "{", "[1]", '{"format": 99}'])
def test_what_is_no_file_of_ours_is_nobodys(content: str, tmp_path: Path) -> None:
    (tmp_path / FILE).write_text(content)
    with pytest.raises(JobError):
        claim(str(tmp_path), job())


def test_a_folder_that_cannot_be_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(JobError, match="file") as error:
        claim(str(tmp_path / "file" / "checkpoint"), job())
    assert error.value.exit_code == 2


def test_a_checkpoint_may_be_a_uri(tmp_path: Path) -> None:
    assert not claim(f"file://{tmp_path}/checkpoint", job()).is_back
    assert claim(str(tmp_path / "checkpoint"), job()).is_back


def test_each_output_and_sink_has_a_part(tmp_path: Path) -> None:
    assert part("/c/", 2, "lib/query", "parquet") == "/c/2-lib%2Fquery-parquet"
