# SPDX-License-Identifier: Apache-2.0
"""A checkpoint is of one job: the same one comes back to it, another one is told."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from gigastream.plan import plan_queries
from gigastream.plan.plan import Plan
from gigastream.query_texts import QueryTexts, check_texts, inline_queries
from spark_sink.checkpoint import FILE, Claim, JobIdentity, claim, part, part_name
from spark_sink.job_errors import JobError
from spark_sink.places import spool_name, without_credentials
from tests.spool.made import write_run


def plan(query: str = "SELECT tb, count(*) AS n FROM PKT GROUP BY time/60 AS tb") -> Plan:
    return plan_queries(check_texts(QueryTexts(inline_queries((query,)))).queries)


def job() -> JobIdentity:
    return JobIdentity(plan(), ["/b", "/a"], ["parquet:/rows", "json"])


def begun(folder: str | Path, job: JobIdentity) -> Claim:
    """Claim it, and begin a micro-batch."""
    found = claim(str(folder), job)
    for name in found.parts.values():
        (Path(folder) / name / "planned").mkdir(parents=True, exist_ok=True)
        (Path(folder) / name / "planned" / "0").touch()
    return found


MINUTES = "SELECT tb, count(*) AS n FROM PKT GROUP BY time/60 AS tb"
CHANGED = {
    "a job with other queries": replace(job(), plan=plan(f"DEFINE {{ query_name b; }} {MINUTES}")),
    "a job with other spools": replace(job(), spools=["/a"]),
    "its aggregates": replace(job(), plan=plan(MINUTES.replace("count(*)", "sum(len)"))),
    "its GROUP BY": replace(job(), plan=plan(f"{MINUTES}, len")),
    "its columns": replace(job(), plan=plan(MINUTES.replace("AS n", "AS packets"))),
    "its aggregates ": replace(job(), plan=plan(f"{MINUTES} HAVING max(len) > 3")),
}
GOES_ON = {
    "a HAVING": replace(job(), plan=plan(f"{MINUTES} HAVING count(*) > 1")),
    "a parameter": replace(job(), plan=plan(MINUTES.replace("count(*)", "count(*) * 8"))),
    "an output": replace(job(), outputs=["parquet:/others", "json"]),
    "fewer": replace(job(), outputs=["json"]),
    "an output more": replace(job(), outputs=["parquet:/rows", "json", "csv"]),
}


def test_a_new_checkpoint_is_claimed_once(tmp_path: Path) -> None:
    folder = str(tmp_path / "new" / "checkpoint")
    first, second = begun(folder, job()), claim(folder, job())
    assert (first.known, second.known) == (frozenset(), frozenset(first.parts))
    assert first.reader == second.reader
    assert first.reader != claim(str(tmp_path / "another"), job()).reader
    assert {path.name for path in Path(folder).iterdir()} == {FILE, *first.parts.values()}


def test_the_order_of_spools_and_outputs_is_no_difference(tmp_path: Path) -> None:
    begun(tmp_path, job())
    assert claim(str(tmp_path), replace(job(), spools=["/a", "/b"])).known


@pytest.mark.parametrize("what", CHANGED)
def test_another_job_is_told(what: str, tmp_path: Path) -> None:
    begun(tmp_path, job())
    with pytest.raises(JobError, match=what.strip()) as error:
        claim(str(tmp_path), CHANGED[what])
    assert error.value.exit_code == 2
    assert "--checkpoint" in str(error.value.hint)
    assert claim(str(tmp_path), job()).known


def test_a_checkpoint_that_knows_paths_learns_identities(tmp_path: Path) -> None:
    """Earlier versions wrote down paths, and with them the password of a URI."""
    begun(tmp_path, replace(job(), spools=["/a", "s3://me:secret@host/b"]))
    now = replace(job(), spools=["1f", "2e"], paths=["s3://me:secret@host/b", "/a"])
    assert claim(str(tmp_path), now).known
    assert "secret" not in (tmp_path / FILE).read_text()
    assert claim(str(tmp_path), replace(now, paths=["/moved", "/a"])).known


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
    assert not claim(f"file://{tmp_path}/checkpoint", job()).known
    begun(tmp_path / "checkpoint", job())
    assert claim(str(tmp_path / "checkpoint"), job()).known


def test_each_output_and_sink_has_a_part() -> None:
    name = part_name(2, "lib/query", "parquet")
    assert part("/c/", name) == "/c/2-lib%2Fquery-parquet"


@pytest.mark.parametrize("what", GOES_ON)
def test_what_keeps_no_state_may_change(what: str, tmp_path: Path) -> None:
    """And each output goes on with its own progress, whatever stands beside it."""
    before = begun(tmp_path, job())
    now = begun(tmp_path, GOES_ON[what])
    assert now.known == frozenset(before.parts)
    for key in set(before.parts) & set(now.parts):
        assert now.parts[key] == before.parts[key]
    assert len(set(now.parts.values())) == len(now.parts)
    again = claim(str(tmp_path), job())
    assert {key: again.parts[key] for key in before.parts} == before.parts


def test_outputs_in_another_order_keep_their_progress(tmp_path: Path) -> None:
    before = begun(tmp_path, job())
    assert claim(str(tmp_path), replace(job(), outputs=["json", "parquet:/rows"])) == replace(
        before, known=frozenset(before.parts)
    )


def test_one_of_an_earlier_version_goes_on_as_it_was(tmp_path: Path) -> None:
    """It says neither what is kept nor which folder is whose: nothing of it may change."""
    parts = begun(tmp_path, job()).parts
    file = tmp_path / FILE
    said = json.loads(file.read_text())
    del said["kept"], said["parts"]
    file.write_text(json.dumps(said))
    for changed in ("a HAVING", "an output"):
        with pytest.raises(JobError, match="a job with other"):
            claim(str(tmp_path), GOES_ON[changed])
    assert claim(str(tmp_path), job()).parts == parts
    assert claim(str(tmp_path), GOES_ON["a HAVING"]).parts == parts


@pytest.mark.parametrize("what", CHANGED)
def test_one_in_which_nothing_was_done_is_free(what: str, tmp_path: Path) -> None:
    """Its start failed; spools and tables know the next one by the same name."""
    first = claim(str(tmp_path), replace(job(), starting_at="latest"))
    again = claim(str(tmp_path), replace(CHANGED[what], point="a", starting_at="earliest"))
    assert (again.reader, again.known) == (first.reader, frozenset())


def test_where_it_began_is_where_it_goes_on(tmp_path: Path) -> None:
    latest = replace(job(), starting_at="latest")
    begun(tmp_path, latest)
    assert claim(str(tmp_path), job()).known
    assert claim(str(tmp_path), latest).known
    for start, option in (({"starting_at": "7"}, "--starting-at"), ({"point": "7"}, "--from")):
        with pytest.raises(JobError, match="has not begun at 7") as error:
            claim(str(tmp_path), replace(job(), **start))
        assert option in str(error.value.hint)


def test_where_it_began_was_not_written_down_once(tmp_path: Path) -> None:
    begun(tmp_path, job())
    said = json.loads((tmp_path / FILE).read_text())
    del said["starting_at"]
    (tmp_path / FILE).write_text(json.dumps(said))
    assert claim(str(tmp_path), replace(job(), starting_at="latest")).known
