# SPDX-License-Identifier: Apache-2.0
"""Jobs over spools of the demo's capture: every sink, restarts, notebooks."""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from pathlib import Path
from queue import Queue
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("pyspark")

from captures import DEMO_CAPTURE
from cli.command import COMMAND, gigastream, wait_until_read
from spark_command import written
from spark_command.written import QUERY, SETS, answered_here, in_order, parquet, plain

from gigastream.daemon.output_queries import output_queries
from gigastream.engine.batch import NativeBatch
from gigastream.gsql.diagnostics import GsqlError
from gigastream.query_texts import QueryTexts, inline_queries
from gigastream.spool import Spool, arrivals
from gigastream.spool.plan import SpooledPlanError
from spark_sink.job import Job, JobOptions, Printing, run_job
from spark_sink.job_errors import JobError
from spark_sink.progress_log import ProgressLog
from spark_sink.run import run_query
from spark_sink.sinks import parse_sink, start
from tests.waiting import PATIENCE_S

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

NOW = {"availableNow": True}
PRINTING = Printing(NativeBatch.from_arrow, output_queries)


@pytest.fixture(scope="module")
def spool(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written.spool(tmp_path_factory.mktemp("spool") / "demo", SETS)


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A spool of one query."""
    return written.spool(tmp_path_factory.mktemp("spool") / "one")


def options(spool: Path, checkpoint: Path, *sinks: str, **others: Any) -> JobOptions:
    parsed = [parse_sink(sink) for sink in sinks]
    return JobOptions([str(spool)], str(checkpoint), parsed, trigger=NOW, **others)


def run(asked: JobOptions) -> Job:
    return run_job(asked, lambda: False, PRINTING)


def plain_rows(rows: DataFrame) -> list[dict[str, Any]]:
    return in_order({k: plain(v) for k, v in row.asDict().items()} for row in rows.collect())


def here(query: str) -> list[dict[str, Any]]:
    """The engine's rows of one query of SETS."""
    rows = [row for row in answered_here(SETS) if row["query"] == query]
    return in_order({key: row[key] for key in row if key != "query"} for row in rows)


@pytest.mark.long
def test_each_query_gets_its_rows_once_and_a_restart_adds_none(
    spark: SparkSession, spool: Path, tmp_path: Path
) -> None:
    asked = options(spool, tmp_path / "checkpoint", f"parquet:{tmp_path}/rows")
    for _ in range(2):
        assert len(run(asked).running) == 2
        for query in ("talkers", "resets"):
            assert here(query)
            assert parquet(tmp_path / "rows" / query) == here(query)


@pytest.mark.long
def test_each_output_gets_the_rows_once(spark: SparkSession, one: Path, tmp_path: Path) -> None:
    outputs = f"csv:{tmp_path}/rows.csv", f"spark:text:{tmp_path}/text"
    text, printed = run(options(one, tmp_path / "checkpoint", *outputs)).running[::-1]
    assert text.sink is None
    assert printed.sink is not None
    assert printed.sink.written == len(answered_here())
    parts = (tmp_path / "text").glob("part-*")
    lines = [line for part in parts for line in part.read_text().splitlines()]
    assert in_order(map(json.loads, lines)) == answered_here()
    expected = gigastream("run", "--spool", one, "-o", "csv").lines
    found = (tmp_path / "rows.csv").read_text().splitlines()
    assert found[0] == expected[0]
    assert sorted(found) == sorted(expected)


MERGED = """DEFINE { query_name both; visibility internal; }
    MERGE a.timestamp : b.timestamp FROM TCP a, UDP b;
    DEFINE { query_name merged; } SELECT timestamp, protocol, len FROM both"""


@pytest.mark.long
def test_what_is_merged_is_in_order_where_the_driver_writes(
    spark: SparkSession, tmp_path: Path
) -> None:
    spool = written.spool(tmp_path / "spool", MERGED)
    run(options(spool, tmp_path / "checkpoint", f"json:{tmp_path}/rows"))
    rows = list(map(json.loads, (tmp_path / "rows").read_text().splitlines()))
    times = [row["timestamp"] for row in rows]
    assert times == sorted(times)
    assert in_order(rows) == answered_here(MERGED)
    with pytest.raises(GsqlError, match="is in the order of a MERGE"):
        run(options(spool, tmp_path / "other", f"parquet:{tmp_path}/files"))


@pytest.mark.long
def test_windows_that_were_due_when_a_job_died_leave_when_it_comes_back(
    spark: SparkSession, one: Path, tmp_path: Path
) -> None:
    asked = options(one, tmp_path / "checkpoint", f"parquet:{tmp_path}/rows")
    due_in_a_batch_of_their_own = "spark.sql.streaming.noDataMicroBatches.enabled"
    spark.conf.set(due_in_a_batch_of_their_own, "false")
    try:
        run(asked)
    finally:
        spark.conf.unset(due_in_a_batch_of_their_own)
    assert parquet(tmp_path / "rows") == []
    run(asked)
    assert parquet(tmp_path / "rows") == answered_here()


def write_from_pipe(root: Path, data: bytes, *, stopped_behind: int | None = None) -> None:
    """Write a spool of what comes through a pipe, to its end or, behind so many, to SIGTERM."""
    words = ("run", "-e", QUERY, "-r", "-", "-o", f"spool:{root}", "--slack", "0.1s")
    pipes = {"stdin": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen([*COMMAND, *words, "--stats", "json"], **pipes) as command:
        assert command.stdin is not None
        command.stdin.write(data)
        command.stdin.flush()
        if stopped_behind is not None:
            wait_until_read(command, stopped_behind)
            command.terminate()
        command.stdin.close()
        assert command.wait(PATIENCE_S) == 0


def cut_behind(data: bytes, packets: int) -> tuple[bytes, bytes]:
    """Cut a capture in two behind so many packets; each has the header."""
    at = 24
    for _ in range(packets):
        at += 16 + int.from_bytes(data[at + 8 : at + 12], "little")
    return data[:at], data[:24] + data[at:]


@pytest.mark.long
def test_a_writer_and_a_job_that_come_again_and_again_give_one_answer(
    spark: SparkSession, tmp_path: Path
) -> None:
    data, root = DEMO_CAPTURE.read_bytes(), tmp_path / "spool"
    first, rest = cut_behind(data, 1500)
    sink = f"parquet:{tmp_path}/rows"
    write_from_pipe(root, first, stopped_behind=1500)
    run(options(root, tmp_path / "checkpoint", sink))
    before = parquet(tmp_path / "rows")
    assert 0 < len(before) < len(answered_here())
    root = root.rename(tmp_path / "moved")
    write_from_pipe(root, rest)
    job = run(options(root, tmp_path / "checkpoint", sink))
    assert parquet(tmp_path / "rows") == answered_here()
    assert (job.late, job.losses) == (0, 0)
    (reader,) = root.glob("streams/*/*/*/readers/*.json")
    assert reader.name.startswith(f"{job.reader}-0-")
    write_from_pipe(root, data)
    with pytest.raises(JobError, match="generation 2 was written anew"):
        run(options(root, tmp_path / "checkpoint", sink))


@pytest.mark.long
@pytest.mark.parametrize("state", ["memory", "spool"])
def test_the_account_of_a_job_adds_up(
    state: str, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two spools, a damaged segment, a restart: every partial row is somewhere."""
    monkeypatch.setattr(arrivals, "PATIENCE_SECONDS", 0.0)
    one = written.spool(tmp_path / "one")
    two = written.spool(tmp_path / "two", captures=[f"a={DEMO_CAPTURE}", f"b={DEMO_CAPTURE}"])
    (segment,) = two.glob("streams/*/b/*/segment-*")
    segment.write_bytes(segment.read_bytes()[:-100])
    asked = options(one, tmp_path / "checkpoint", f"duckdb:{tmp_path}/rows.db", state=state)
    asked = replace(asked, spools=[str(one), str(two)], source_options={"onDamage": "skip"})
    put = {
        (root.name, track.interface): sum(entry.rows for entry in track.poll())
        for root in (one, two)
        for track in Spool(root).tracks()
    }
    for rows_in in (put["one", "default"] + put["two", "a"], 0):
        job = run(asked)
        found = {(Path(each.spool).name, each.interface): each for each in job.account}
        assert {place: each.put for place, each in found.items()} == put
        assert all(each.adds_up for each in found.values())
        assert found["two", "b"].damaged == put["two", "b"] > 0
        assert found["two", "a"].read == put["two", "a"]
        (progress,) = job.progress
        assert progress.late == progress.behind_ns == progress.segments_unread == 0
        asked_for = found["two", "b"].damaged if state == "spool" and rows_in else 0
        assert progress.rows_in == rows_in + asked_for


def test_a_file_that_was_printed_is_not_begun_again(
    spark: SparkSession, one: Path, tmp_path: Path
) -> None:
    asked = options(one, tmp_path / "checkpoint", f"json:{tmp_path}/json")
    run(asked)
    before = (tmp_path / "json").read_bytes()
    assert before
    with pytest.raises(JobError, match="cannot go on"):
        run(asked)
    assert (tmp_path / "json").read_bytes() == before


@pytest.mark.long
@pytest.mark.parametrize("state", ["memory", "spool", None])
def test_what_is_printed_goes_on_as_it_was_begun(
    state: str | None,
    spark: SparkSession,
    one: Path,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """Nothing is printed twice."""
    run(options(one, tmp_path / "checkpoint", "json", state=state))
    assert in_order(map(json.loads, capfd.readouterr().out.splitlines())) == answered_here()
    run(options(one, tmp_path / "checkpoint", "json"))
    assert capfd.readouterr().out == ""
    other = "memory" if state != "memory" else "spool"
    with pytest.raises(JobError, match=f"cannot go on with --state {other}"):
        run(options(one, tmp_path / "checkpoint", "json", state=other))


@pytest.mark.long
@pytest.mark.parametrize("state", ["memory", "spool"])
def test_another_query_takes_up_where_one_has_stopped(
    state: str, spark: SparkSession, tmp_path: Path
) -> None:
    """Between them each window stands once, whole, though some were half read by the first."""
    data, root = DEMO_CAPTURE.read_bytes(), tmp_path / "spool"
    first, rest = cut_behind(data, 1500)
    write_from_pipe(root, first, stopped_behind=1500)
    old, new = tmp_path / "old", tmp_path / "new"
    run(options(root, tmp_path / "before", f"json:{old}", state=state))
    write_from_pipe(root, rest)
    texts = QueryTexts(inline_queries((QUERY.replace("AS bytes", "AS octets"),)))
    point = str(tmp_path / "before")
    asked = options(root, tmp_path / "after", f"json:{new}", state=state, texts=texts, point=point)
    run(asked)
    rows = [json.loads(line.replace("octets", "bytes")) for line in new.read_text().splitlines()]
    before = [json.loads(line) for line in old.read_text().splitlines()]
    assert before
    assert rows
    assert in_order([*before, *rows]) == answered_here()


@pytest.mark.long
def test_a_having_and_an_output_change_under_a_checkpoint(
    spark: SparkSession, tmp_path: Path
) -> None:
    """A window that is open goes on, and is asked the new question; a new output gets all of it."""
    data, root = DEMO_CAPTURE.read_bytes(), tmp_path / "spool"
    first, rest = cut_behind(data, 1500)
    old, new = f"parquet:{tmp_path}/old", f"parquet:{tmp_path}/new"
    write_from_pipe(root, first, stopped_behind=1500)
    run(options(root, tmp_path / "checkpoint", old))
    before = parquet(tmp_path / "old")
    write_from_pipe(root, rest)
    texts = QueryTexts(inline_queries((f"{QUERY} HAVING count(*) > 20",)))
    run(options(root, tmp_path / "checkpoint", new, old, texts=texts))
    asked = [row for row in answered_here() if row["packets"] > 20]
    later = [row for row in asked if row not in before]
    assert later
    assert parquet(tmp_path / "old") == in_order([*before, *later])
    assert parquet(tmp_path / "new") == asked


def test_a_restart_with_other_columns_is_refused(
    spark: SparkSession, one: Path, tmp_path: Path
) -> None:
    where = (one, tmp_path / "checkpoint", f"parquet:{tmp_path}/rows")
    run(options(*where))
    changed = QUERY.replace("sum(len) AS bytes", "sum(len) AS octets")
    with pytest.raises(JobError, match="another query query, which has changed in its columns"):
        run(options(*where, texts=QueryTexts(inline_queries((changed,)))))


def test_without_the_engine_only_sparks_sinks_are_offered(spool: Path, tmp_path: Path) -> None:
    asked = options(spool, tmp_path / "checkpoint", "csv")
    with pytest.raises(JobError, match="printed by the engine"):
        run_job(asked, lambda: False)
    assert not (tmp_path / "checkpoint").exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [("excel", "no output format 'excel'"), ("parquet", "need a folder"), ("spark:", "'spark:'")],
)
def test_wrong_outputs_are_told(text: str, message: str) -> None:
    with pytest.raises(JobError, match=message) as error:
        parse_sink(text)
    assert error.value.exit_code == 2


def test_a_sink_that_spark_does_not_have_is_told(
    spark: SparkSession, one: Path, tmp_path: Path
) -> None:
    with pytest.raises(JobError, match="Spark has no format 'excel'"):
        run(options(one, tmp_path / "checkpoint", "spark:excel"))


def test_a_notebook_gets_what_there_is(spark: SparkSession, spool: Path) -> None:
    rows = run_query(spool, output="talkers", spark=spark, streaming=False)
    assert not rows.isStreaming
    assert plain_rows(rows) == here("talkers")


def test_a_notebook_gets_a_stream(spark: SparkSession, spool: Path, tmp_path: Path) -> None:
    rows = run_query(str(spool), output="talkers", spark=spark)
    assert dict(rows.dtypes)["srcIP"] == "string"
    lines = Queue[str]()
    log = ProgressLog(every_s=3600, tell=lines.put)
    spark.streams.addListener(log)
    at_once = {"processingTime": "0 seconds"}
    checkpoint = str(tmp_path / "checkpoint")
    query = start(rows.writeStream.format("memory"), checkpoint, "talkers", at_once)
    try:
        query.processAllAvailable()
        assert plain_rows(spark.table("talkers")) == here("talkers")
    finally:
        query.stop()
    first, last = (lines.get(timeout=PATIENCE_S) for _ in range(2))
    spark.streams.removeListener(log)
    tracks = Spool(spool).tracks("talkers_low")
    put = sum(entry.rows for track in tracks for entry in track.poll())
    for line in (first, last):
        assert line.startswith(f"talkers: {put:,} rows in, ")
    assert log.progress["talkers"].rows_in == put


def test_another_question_to_the_same_streams(spark: SparkSession, spool: Path) -> None:
    changed = f"DEFINE {{ query_name talkers; }} {QUERY} HAVING count(*) > $least"
    asked = f"PARAM {{ least uint; }} {changed}"
    rows = run_query(spool, asked, parameters={"least": "100"}, spark=spark, streaming=False)
    expected = [row for row in here("talkers") if row["packets"] > 100]
    assert 0 < len(expected) < len(here("talkers"))
    assert plain_rows(rows) == expected


def test_a_question_that_the_streams_cannot_answer_is_told(spool: Path) -> None:
    with pytest.raises(SpooledPlanError, match="no stream other_low"):
        run_query(spool, f"DEFINE {{ query_name other; }} {QUERY.replace('60', '30')}")
    with pytest.raises(SpooledPlanError, match="talkers_low is another one"):
        run_query(spool, f"DEFINE {{ query_name talkers; }} {QUERY.replace('60', '30')}")


def test_wrong_questions_are_told_with_their_place(spool: Path) -> None:
    with pytest.raises(GsqlError, match="no column scrIP"):
        run_query(spool, QUERY.replace("srcIP", "scrIP"))


def test_of_several_queries_one_is_named(spool: Path) -> None:
    with pytest.raises(JobError, match="there are 2 queries") as error:
        run_query(spool)
    assert error.value.hint == "output is one of talkers, resets"
