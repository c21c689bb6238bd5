# SPDX-License-Identifier: Apache-2.0
"""The commands as a person meets them: rows, signals, exit codes, sentences."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest
from captures import DEMO_CAPTURE, ROOT
from cli.command import COMMAND, gigastream, write_all
from spark_command import written
from spark_command.warm import accounts, wait_until_read
from spark_command.written import QUERY, SETS, answered_here, in_order, parquet
from spark_session import why_no_spark

from spark_sink.session import QUICK_START

needs_pyspark = pytest.mark.skipif(find_spec("pyspark") is None, reason="PySpark is not installed")
needs_spark = pytest.mark.skipif(why_no_spark() is not None, reason=str(why_no_spark()))
SECONDS = 900
QUICK = tuple(word for item in QUICK_START.items() for word in ("--conf", "=".join(item)))


def started(*words: str, directory: Path) -> subprocess.Popen[bytes]:
    """Start a command whose stdin stays open; its stdout and stderr are files."""
    with (directory / "out").open("wb") as out, (directory / "err").open("wb") as err:
        return subprocess.Popen(
            [*COMMAND, *words], stdin=subprocess.PIPE, stdout=out, stderr=err, bufsize=0
        )


def wait_for(is_so: Callable[[], bool], command: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + SECONDS
    while not is_so():
        assert command.poll() is None, "the command ended"
        assert time.monotonic() < deadline, "it took too long"
        time.sleep(0.1)


def ended(command: subprocess.Popen[bytes], directory: Path) -> str:
    """Wait for the exit code 0 and return stderr."""
    assert command.wait(SECONDS) == 0
    errors = (directory / "err").read_text()
    assert "Traceback" not in errors
    return errors


@pytest.mark.long
@needs_spark
def test_on_spark_answers_as_here_and_leaves_nothing(tmp_path: Path) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    environment = {**os.environ, "TMPDIR": str(temporary)}
    words = ("run", "-e", SETS, "-r", DEMO_CAPTURE, "--on", "spark", "--stats", "json")
    result = gigastream(*words, env=environment, cwd=temporary, seconds=SECONDS)
    assert result.code == 0
    assert in_order(map(json.loads, result.lines)) == answered_here(SETS)
    account = json.loads(result.err)
    counted = {o["name"]: (o["kind"], o["rows_out"]) for o in account["operators"]}
    uncounted = ("rejected", "no_value", "beyond_limit")
    assert all(o[name] is None for o in account["operators"] for name in uncounted)
    names = [row["query"] for row in answered_here(SETS)]
    assert counted == {name: ("on Spark", names.count(name)) for name in ("talkers", "resets")}
    assert account["sources"][0]["read"] == 2010
    assert list(temporary.iterdir()) == []


@needs_spark
@pytest.mark.slow
def test_ctrl_c_answers_what_came_through_the_pipe(tmp_path: Path) -> None:
    words = ("run", "-e", QUERY, "-r", "-", "--slack", "0.1s", "--on", "spark")
    command = started(*words, "--stats", "json", directory=tmp_path)
    write_all(command.stdin, DEMO_CAPTURE.read_bytes())
    last = max(row["tb"] for row in answered_here())
    closed = [row for row in answered_here() if row["tb"] < last]
    # the pipe is still open: windows leave by punctuation
    rows = tmp_path / "out"
    wait_for(lambda: rows.read_bytes().count(b"\n") >= len(closed), command)
    assert in_order(map(json.loads, rows.read_text().splitlines())) == closed
    wait_until_read(command, tmp_path / "err", 2010)
    os.kill(command.pid, signal.SIGINT)
    ended(command, tmp_path)
    assert accounts(tmp_path / "err")[-1]["rows"] == len(answered_here())
    assert in_order(map(json.loads, rows.read_text().splitlines())) == answered_here()


@needs_spark
@pytest.mark.slow
def test_a_job_stops_in_order_and_goes_on_where_it_was(tmp_path: Path) -> None:
    spool = written.spool(tmp_path / "spool")
    words: tuple[str, ...] = ("spark", "--spool", str(spool), "--max-rows", "20")
    words += (
        "--checkpoint",
        str(tmp_path / "checkpoint"),
        *QUICK,
        "-o",
        f"parquet:{tmp_path / 'rows'}",
    )
    command = started(*words, directory=tmp_path)
    log = tmp_path / "rows" / "_spark_metadata"
    wait_for(lambda: any(log.glob("[0-9]*")), command)
    command.terminate()
    assert "micro-batches" in ended(command, tmp_path)
    done = gigastream(*words, "--trigger", "now", "--stats-every", "1ns", seconds=SECONDS)
    assert done.code == 0
    assert "put 23 = read 23" in done.err
    assert "query to parquet:" in done.err.split("put 23")[0]
    assert parquet(tmp_path / "rows") == answered_here()
    other = gigastream(*words, "-e", QUERY.replace("AS bytes", "AS octets"))
    assert other.code == 2
    assert "belongs to another query query, which has changed in its columns" in other.err


@pytest.mark.slow
@needs_spark
def test_what_is_damaged_is_named_and_the_rest_answered(tmp_path: Path) -> None:
    spool = written.spool(tmp_path / "spool", QUERY, [str(DEMO_CAPTURE), f"cut={DEMO_CAPTURE}"])
    (segment,) = spool.glob("streams/*/cut/*/segment-*")
    segment.write_bytes(segment.read_bytes()[:-100])
    words = ("spark", "--spool", spool, "--checkpoint", tmp_path / "checkpoint", *QUICK)
    words += ("--trigger", "now", "-o", f"json:{tmp_path / 'rows'}")
    result = gigastream(*words, seconds=SECONDS)
    assert result.code == 1
    assert str(segment) in result.err
    rows = map(json.loads, (tmp_path / "rows").read_text().splitlines())
    assert in_order(rows) == answered_here()


@pytest.mark.slow
@needs_spark
def test_spark_submit_runs_the_job(tmp_path: Path) -> None:
    import pyspark

    spool = written.spool(tmp_path / "spool")
    program = Path(pyspark.__file__).parent / "bin" / "spark-submit"
    words = ("--spool", spool, "--checkpoint", tmp_path / "checkpoint", "--trigger", "now")
    words += ("-o", f"json:{tmp_path / 'rows'}")  # stdout is Spark's, which puts our stderr there
    done = subprocess.run(
        [program, "--master", "local[2]", ROOT / "spark_sink" / "job.py", *words],
        env={**os.environ, "PYSPARK_PYTHON": sys.executable},
        capture_output=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    rows = map(json.loads, (tmp_path / "rows").read_text().splitlines())
    assert in_order(rows) == answered_here()


@needs_pyspark
def test_what_spark_cannot_run_is_told_before_it_starts() -> None:
    query = "SELECT s, count(*) FROM PKT GROUP BY 100000000000/(time+1) AS s"
    result = gigastream("run", "-e", query, "-r", DEMO_CAPTURE, "--on", "spark")
    assert result.code == 2
    assert "query:1:" in result.err
    assert "Spark cannot tell when s is over" in result.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--on", "flink"), "flink"),
        (("--on", "spark", "-o", "spool:x"), "--on here"),
        (("--on", "spark", "--spool", "x"), "gigastream spark --spool x"),
    ],
)
def test_what_does_not_go_together_is_told(words: tuple[str, ...], message: str) -> None:
    result = gigastream("run", "-e", QUERY, "-r", DEMO_CAPTURE, *words)
    assert result.code == 2
    assert message in result.err


@needs_pyspark
@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "--spool"),
        (("--spool", "nowhere"), "--checkpoint"),
        (("--spool", "nowhere", "--checkpoint", "c"), "nowhere"),
        (("--spool", "nowhere", "--checkpoint", "c", "-o", "excel"), "'excel'"),
        (("--spool", "nowhere", "--checkpoint", "c", "--trigger", "soon"), "soon"),
        (("--spool", "nowhere", "--checkpoint", "c", "--option", "x"), "NAME=VALUE"),
        (
            ("--spool", "nowhere", "--checkpoint", "c", "--starting-at", "yesterday"),
            "--starting-at: 'yesterday' is not earliest, latest or the number of a segment",
        ),
    ],
)
def test_wrong_words_are_told(words: tuple[str, ...], message: str, tmp_path: Path) -> None:
    result = gigastream("spark", *words, cwd=tmp_path)
    assert result.code == 2
    assert message in result.err
    assert list(tmp_path.iterdir()) == []
