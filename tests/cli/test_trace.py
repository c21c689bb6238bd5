# SPDX-License-Identifier: Apache-2.0
"""--trace FILE: a JSON object for each heartbeat; its file is one like those of rows."""

from __future__ import annotations

import json
import os
import re
import select
import shlex
import signal
import socket
import subprocess
from pathlib import Path
from typing import Any

import pytest
from captures import DEMO_CAPTURE
from cli.command import COMMAND, SECONDS, gigastream

from tests.waiting import wait_until

QUERY = "SELECT tb, count(*) AS packets FROM PKT GROUP BY time/60 AS tb"
RUN = ("run", "-o", "csv", "-e", QUERY, "-r", DEMO_CAPTURE, "--heartbeat-packets", "100")
STEP = {"node", "received_ns", "queue", "rows_in", "rows_out", "held", "cost_ns"}


def traced(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_each_heartbeat_is_a_line(tmp_path: Path) -> None:
    path = tmp_path / "new" / "trace.jsonl"
    result = gigastream(*RUN, "--heartbeat", "0", "--trace", path)
    assert result.code == 0
    assert result.out == gigastream(*RUN).out
    lines = traced(path)
    assert [line["trace"] for line in lines] == list(range(1, 2010 // 100 + 1))
    for line in lines:
        assert line["query"] == "query"
        low, *others = line["steps"]
        assert low["interface"] == "default"
        assert low["rows_in"] == 100 * line["trace"]
        assert set(low) == STEP | {"interface"}
        assert all(set(step) == STEP for step in others)
        assert line["taken_ns"] >= others[-1]["received_ns"]


def test_what_is_promised_only_grows(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    assert gigastream(*RUN, "--slack", "1s", "--trace", path, "-q").code == 0
    bounds = [line["punctuation"]["tb"] for line in traced(path)]
    known = [bound for bound in bounds if bound is not None]
    assert known
    assert known == sorted(known)
    assert bounds[: len(bounds) - len(known)] == [None] * (len(bounds) - len(known))


def test_windows_and_a_trace_go_together(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    result = gigastream(*RUN, "--windows", "2", "--slack", "1s", "--trace", path)
    assert result.code == 0
    assert len(result.lines) == 3
    assert traced(path)


def test_a_spool_has_no_rows_to_follow_heartbeats_to(tmp_path: Path) -> None:
    words = ("run", "-e", QUERY, "-r", DEMO_CAPTURE, "--trace", tmp_path / "trace.jsonl")
    for other in (("-o", f"spool:{tmp_path / 'spool'}"), ("--on", "spark")):
        result = gigastream(*words, *other)
        assert result.code == 2
        assert "--trace follows heartbeats to what is answered here" in result.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("which", ["rows", "capture"])
def test_no_file_of_the_run_is_written_over(tmp_path: Path, which: str) -> None:
    capture = tmp_path / "a.pcap"
    capture.write_bytes(DEMO_CAPTURE.read_bytes())
    rows = tmp_path / "rows.csv"
    rows.write_text("of another run\n")
    path = rows if which == "rows" else capture
    result = gigastream("run", "-e", QUERY, "-r", capture, "-o", f"csv:{rows}", "--trace", path)
    assert result.code == 2
    assert f"{path} is " in result.err
    assert "it would be overwritten" in result.err
    assert "--trace FILE" in result.err
    assert capture.read_bytes() == DEMO_CAPTURE.read_bytes()
    assert rows.read_text() == "of another run\n"


def test_where_the_trace_has_no_place_the_rows_file_stays_as_it_was(tmp_path: Path) -> None:
    rows, taken = tmp_path / "rows.csv", tmp_path / "folder"
    rows.write_text("of another run\n")
    taken.mkdir()
    words = ("run", "-e", QUERY, "-r", DEMO_CAPTURE, "-o", f"csv:{rows}")
    result = gigastream(*words, "--trace", taken)
    assert result.code == 2
    assert rows.read_text() == "of another run\n"
    assert gigastream(*words, "--trace", tmp_path / "trace.jsonl").code == 0
    assert rows.read_text().startswith("tb,packets")


def test_a_dash_is_stdout_where_the_rows_do_not_go(tmp_path: Path) -> None:
    result = gigastream(*RUN, "--trace", "-", cwd=tmp_path)
    assert result.code == 2
    assert "--trace -: stdout is where the rows go" in result.err
    rows = ("-o", f"csv:{tmp_path / 'rows.csv'}")
    result = gigastream(*RUN[:1], *rows, *RUN[3:], "--trace", "-", cwd=tmp_path)
    assert result.code == 0
    assert all(json.loads(line)["steps"] for line in result.lines)
    assert [path.name for path in tmp_path.iterdir()] == ["rows.csv"]


def test_a_full_disk_is_told_and_ends_the_run() -> None:
    result = gigastream(*RUN, "--trace", "/dev/full")
    assert result.code == 1
    told = r": No space left on device; no trace line is in it, (\d+) (is|are) "
    found = re.search("/dev/full" + told + "lost\n", result.err)
    assert found is not None
    assert "hint: make room, or --trace FILE elsewhere, and run again" in result.err
    assert f"trace (--trace): 0 written, {found[1]} line" in result.err
    assert result.lines[0] == "tb,packets"


def run_without_reader(*words: str) -> subprocess.CompletedProcess[str]:
    """Run with a trace whose reader has left."""
    reading, writing = os.pipe()
    os.close(reading)
    try:
        return subprocess.run(
            [*COMMAND, *map(str, RUN), "--trace", f"/dev/fd/{writing}", *words],
            capture_output=True,
            pass_fds=(writing,),
            text=True,
            timeout=SECONDS,
            check=False,
        )
    finally:
        os.close(writing)


def test_rows_go_on_where_the_reader_of_the_trace_has_left() -> None:
    done = run_without_reader("--stats")
    assert done.returncode == 0
    assert done.stdout.encode() == gigastream(*RUN).out
    assert "2,010" in done.stderr, "the account, as of every run"


def test_lines_that_nobody_reads_are_told_and_counted(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    assert gigastream(*RUN, "--trace", path).code == 0
    lines = len(traced(path))
    text, form = run_without_reader(), run_without_reader("--stats", "json")
    for done in (text, form, run_without_reader("-q")):
        assert done.stderr.count("the reader of the trace has left") == 1
    assert f"trace (--trace): 0 written, {lines} lines lost\n" in text.stderr
    account = json.loads(form.stderr.splitlines()[-1])
    assert (account["trace_lines"], account["trace_lines_lost"]) == (0, lines)


def test_lines_that_nobody_takes_are_no_rows() -> None:
    reading, writing = os.pipe()
    full = select.poll()
    full.register(writing, select.POLLOUT)
    words = ["run", "-e", QUERY, "-r", "-", "--heartbeat-packets", "1", "-o", "csv"]
    with subprocess.Popen(
        [*COMMAND, *words, "--trace", f"/dev/fd/{writing}"],
        stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        pass_fds=(writing,), text=True,
    ) as process:  # fmt: skip
        assert process.stdin is not None
        process.stdin.buffer.write(DEMO_CAPTURE.read_bytes())
        process.stdin.flush()
        wait_until(lambda: not full.poll(0), "the pipe to be full")
        process.send_signal(signal.SIGTERM)
        _, told = process.communicate(timeout=SECONDS)
    os.close(reading)
    os.close(writing)
    assert process.returncode == 1
    assert re.search(r"nobody reads it; [0-9,]+ trace lines are lost\nhint: .* --trace FILE", told)
    assert "rows are lost" not in told


def test_stderr_is_a_place_beside_the_account(tmp_path: Path) -> None:
    """Its file has one position: neither writes over the other, and nothing before is cut."""
    path = tmp_path / "stderr"
    path.write_text("of another\n")
    with path.open("a") as stderr:
        done = subprocess.run(
            [*COMMAND, *map(str, RUN), "--trace", "/dev/stderr"],
            stdout=subprocess.DEVNULL, stderr=stderr, timeout=SECONDS, check=False,
        )  # fmt: skip
    assert done.returncode == 0
    first, *lines = path.read_text().splitlines()
    traces = [json.loads(line) for line in lines if line.startswith("{")]
    account = gigastream(*RUN).err.splitlines()
    assert first == "of another"
    assert traces
    assert [line for line in lines if not line.startswith("{")][:-1] == account[:-1]


def test_stderr_may_be_a_socket() -> None:
    """Which cannot be opened by a name."""
    ours, theirs = socket.socketpair()
    with ours, theirs, ours.makefile("r") as told:
        words = [*COMMAND, *map(str, RUN), "--trace", "/dev/stderr", "-q"]
        with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=theirs) as child:
            theirs.close()
            assert all(json.loads(line)["steps"] for line in told)
            assert child.wait(SECONDS) == 0


@pytest.mark.parametrize(("path", "why"), [
    ("/dev/stdin", "it is not open for writing"), ("/dev/fd/77", "Bad file descriptor"),
])  # fmt: skip
def test_what_cannot_be_written_here_is_refused(path: str, why: str) -> None:
    result = gigastream(*RUN, "--trace", path)
    assert (result.code, result.out) == (2, b"")
    assert f"gigastream: {path}: {why}\n" in result.err


@pytest.mark.parametrize("path", ["", "-"])
def test_a_trace_without_a_place_is_refused_before_anything_is_emptied(
    tmp_path: Path, path: str
) -> None:
    rows = tmp_path / "rows.csv"
    rows.write_text("of another run")
    words = shlex.join([*COMMAND, *map(str, RUN[:1] + RUN[3:]), "-o", f"csv:{rows}"])
    done = subprocess.run(
        ["sh", "-c", f"{words} --trace '{path}' >&-"],
        capture_output=True, text=True, timeout=SECONDS, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert ("--trace names no file" if path == "" else "stdout: it is closed") in done.stderr
    assert rows.read_text() == "of another run"


@pytest.mark.long
def test_lines_of_a_spool_are_heartbeats(tmp_path: Path) -> None:
    spool, path = tmp_path / "spool", tmp_path / "trace.jsonl"
    written = gigastream("run", "-e", QUERY, "-r", DEMO_CAPTURE, "-o", f"spool:{spool}")
    assert written.code == 0
    words = ("run", "--spool", spool, "-o", "csv")
    result = gigastream(*words, "--trace", path)
    assert result.code == 0
    assert result.out == gigastream(*words).out
    for line in traced(path):
        assert all(set(step) == STEP for step in line["steps"])
    assert traced(path)
