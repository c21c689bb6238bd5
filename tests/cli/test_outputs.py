# SPDX-License-Identifier: Apache-2.0
"""Outputs that fail, that nobody reads, or that are what is read: told, counted, nothing cut."""

from __future__ import annotations

import csv
import json
import os
import resource
import select
import shlex
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest
from captures import DEMO_CAPTURE
from cli.command import COMMAND, Result, account_so_far, gigastream, write_all

from tests.waiting import PATIENCE_S, wait_until

PACKETS = "SELECT time, len, timestamp FROM PKT"
ALL = 2010
FORMATS = ("table", "json", "csv", "arrow", "parquet")
JSON = ("--stats", "json", "-r", DEMO_CAPTURE)
SMALL = ("--batch-rows", "100")


@pytest.fixture(scope="module", autouse=True)
def compiled() -> None:
    """The compiler, too, would meet a limit of a file's size."""
    assert gigastream("run", "-e", PACKETS, "-r", DEMO_CAPTURE, "-q").code == 0


def account_of(result: Result) -> dict[str, Any]:
    """The account, which is the first line of stderr."""
    found: dict[str, Any] = json.loads(result.err.splitlines()[0])
    return found


def rows_in(form: str, path: Path) -> int:
    if form == "arrow":
        return pyarrow.ipc.open_stream(path.read_bytes()).read_all().num_rows
    with path.open() as file:
        return sum(1 for _ in (csv.reader(file) if form == "csv" else file)) - (form == "csv")


def limited(size: int) -> Callable[[], None]:
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def check_lost(result: Result, form: str, path: Path, reason: str) -> None:
    """File, rows lost and what to do are told; what is in the file is whole, and counted."""
    assert result.code == 1
    account = account_of(result)
    assert account["rows"] + account["rows_lost"] == account["sources"][0]["read"]
    assert account["rows_lost"] > 0
    message, hint = result.err.splitlines()[1:]
    assert message.startswith(f"gigastream: {path}: {reason}")
    assert f"{account['rows_lost']:,} are lost" in message
    assert hint.startswith("hint: ")
    assert hint.endswith("and run again")
    if form not in ("table", "parquet"):
        assert rows_in(form, path) == account["rows"] > 0


@pytest.mark.parametrize("form", FORMATS)
def test_a_file_that_may_grow_no_further(form: str, tmp_path: Path) -> None:
    path = tmp_path / "rows"
    words = ("run", "-e", PACKETS, *JSON, *SMALL, "-o", f"{form}:{path}")
    result = gigastream(*words, preexec_fn=limited(9000))
    check_lost(result, form, path, "File too large")


@pytest.mark.parametrize("form", FORMATS)
def test_a_disk_that_is_full_from_the_start(form: str) -> None:
    result = gigastream("run", "-e", PACKETS, *JSON, "-o", f"{form}:/dev/full")
    assert result.code == 1
    account = account_of(result)
    assert account["rows"] == 0 < account["rows_lost"] == account["sources"][0]["read"]
    assert "/dev/full: No space left on device; no row is in it" in result.err


@contextmanager
def disk(folder: Path, kilobytes: int) -> Iterator[Path]:
    """A small file system; skips where none may be mounted."""
    folder.mkdir()
    size = f"size={kilobytes}k"
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", size, "tmpfs", folder], capture_output=True, check=False
    )
    if made.returncode != 0:
        pytest.skip("no file system may be mounted")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)  # a test that failed may hold it


@pytest.mark.privileged
@pytest.mark.parametrize("form", FORMATS)
def test_a_disk_that_becomes_full(form: str, tmp_path: Path) -> None:
    with disk(tmp_path / "disk", 12) as folder:
        path = folder / "rows"
        result = gigastream("run", "-e", PACKETS, *JSON, *SMALL, "-o", f"{form}:{path}")
        check_lost(result, form, path, "No space left on device")


@pytest.mark.privileged
def test_a_spool_on_a_disk_that_becomes_full(tmp_path: Path) -> None:
    """What is in it is read; the same command reads the file anew once there is room."""
    with disk(tmp_path / "disk", 60) as folder:
        root = folder / "spool"
        words = ("run", "-e", PACKETS, *JSON, *SMALL, "--segment-rows", "100")
        full = gigastream(*words, "-o", f"spool:{root}")
        account = account_of(full)
        assert full.code == 1
        assert account["rows"] + account["rows_lost"] > account["rows"] > 0
        message, hint = full.err.splitlines()[1:]
        assert str(root) in message
        assert "no space left on device" in message
        assert hint.endswith("the same command goes on with a link, and reads a file anew")
        subprocess.run(["mount", "-o", "remount,size=10m", folder], check=True)
        again = gigastream(*words, "-o", f"spool:{root}")
        assert again.code == 0
        read = gigastream("run", "--spool", root, "-o", "json", "-q")
        assert read.code == 0
        assert len(read.lines) == account_of(again)["rows"] > account["rows"]


@pytest.mark.parametrize("stderr", ["closed", "full", "left"])
def test_nobody_to_tell_costs_no_row(stderr: str, tmp_path: Path) -> None:
    rows = tmp_path / "rows.csv"
    end = {"closed": "2>&-", "full": "2>/dev/full", "left": "2> >(exec true)"}[stderr]
    command = shlex.join([*COMMAND, "run", "-e", PACKETS, "-r", str(DEMO_CAPTURE)])
    path = shlex.quote(str(rows))
    for line in (f"{command} -o csv >{path} {end}", f"{command} -o csv:{path} {end}"):
        assert subprocess.run(["bash", "-c", line], timeout=600, check=False).returncode == 0
        assert rows_in("csv", rows) == ALL
        rows.unlink()


def test_a_closed_stdout_is_told(tmp_path: Path) -> None:
    command = shlex.join([*COMMAND, "run", "-e", PACKETS, "-r", str(DEMO_CAPTURE)])
    file = shlex.quote(f"{tmp_path}/rows")
    for more, code in (("", 2), ("-o csv", 2), (f"-o csv:{file}", 0)):
        done = subprocess.run(
            ["bash", "-c", f"{command} {more} >&-"], capture_output=True, check=False, timeout=600
        )
        assert done.returncode == code, done.stderr
        assert b"stdout" in done.stderr or code == 0


# ---- what is read is not written ----


@pytest.fixture
def capture(tmp_path: Path) -> Path:
    path = tmp_path / "in.pcap"
    shutil.copy(DEMO_CAPTURE, path)
    return path


def same(capture: Path, name: str) -> Path:
    """The capture, by another name."""
    other = capture.with_name(name)
    if name == "hard":
        other.hardlink_to(capture)
    elif name == "soft":
        other.symlink_to(capture.name)
    elif name == "folder":
        other.mkdir()
        return other / ".." / capture.name
    return other


@pytest.mark.parametrize("form", FORMATS)
def test_a_capture_is_not_overwritten(form: str, capture: Path) -> None:
    result = gigastream("run", "-e", PACKETS, "-r", capture, "-o", f"{form}:{capture}")
    assert result.code == 2
    assert f"{capture} is read (-r): it would be overwritten" in result.err
    assert capture.read_bytes() == DEMO_CAPTURE.read_bytes()


@pytest.mark.parametrize("name", ["hard", "soft", "folder"])
def test_nor_is_it_by_another_name(name: str, capture: Path) -> None:
    other = same(capture, name)
    result = gigastream("run", "-e", PACKETS, "-r", capture, "-o", f"csv:{other}")
    assert result.code == 2
    assert capture.read_bytes() == DEMO_CAPTURE.read_bytes()


def test_nor_through_stdin_and_stdout(capture: Path) -> None:
    with capture.open("rb") as stdin, capture.open("ab") as stdout:
        for words in (("-r", "-", "-o", f"csv:{capture}"), ("-r", str(capture), "-o", "csv")):
            done = subprocess.run(
                [*COMMAND, "run", "-e", PACKETS, *words],
                stdin=stdin, stdout=stdout, stderr=subprocess.PIPE, check=False, timeout=600,
            )  # fmt: skip
            assert done.returncode == 2, done.stderr
    assert capture.read_bytes() == DEMO_CAPTURE.read_bytes()


def test_a_dash_is_stdout(tmp_path: Path) -> None:
    words = ("run", "-e", PACKETS, "-r", DEMO_CAPTURE, "-q")
    result = gigastream(*words, "-o", "csv:-", cwd=tmp_path)
    assert result.out == gigastream(*words, "-o", "csv").out
    assert list(tmp_path.iterdir()) == []


def test_no_other_file_that_is_read_is_overwritten(tmp_path: Path) -> None:
    files = {
        "query.gsql": "SELECT time, getlpmid(srcIP, 'list.tbl') AS net FROM IPV4",
        "list.tbl": "10.0.0.0/8,1\n",
        "config.toml": "slots = 64\n",
        "mine.gsql": "/* nothing */\n",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    words = ("query.gsql", "-c", "config.toml", "--definitions", "mine.gsql", "-r", DEMO_CAPTURE)
    for name, text in files.items():
        result = gigastream("run", *words, "-o", f"csv:{name}", cwd=tmp_path)
        assert result.code == 2, name
        assert "it would be overwritten" in result.err
        assert (tmp_path / name).read_text() == text
    assert gigastream("run", *words, "-o", "csv:rows", cwd=tmp_path).code == 0


@pytest.mark.parametrize("output", ["csv:{}", "json:{}"])
@pytest.mark.parametrize("name", ["office.csv", "traffic.h", "asked.so"])
def test_nor_a_watchlist_nor_code(tmp_path: Path, name: str, output: str) -> None:
    """Of a mapped object the end of the run would be the end of the process."""
    (tmp_path / "office.csv").write_text("net,room\n10.20.0.80,cellar\n")
    (tmp_path / "traffic.h").write_text("/* nothing */\n")
    (tmp_path / "traffic.gsql").write_text("/* nothing */\n")
    asked = "SELECT time, room WATCHLIST_JOIN FROM IPV4 p, 'office.csv' w WHERE p.srcIP = w.net"
    assert gigastream("compile", "-e", PACKETS, "-o", "asked.so", cwd=tmp_path).code == 0
    kept = (tmp_path / name).read_bytes()
    queries = (
        ("asked.so",) if name == "asked.so" else ("--definitions", "traffic.gsql", "-e", asked)
    )
    words = ("run", *queries, "-r", DEMO_CAPTURE, "-o", output.format(name))
    result = gigastream(*words, cwd=tmp_path)
    assert result.code == 2, result.err
    assert "it would be overwritten" in result.err
    assert (tmp_path / name).read_bytes() == kept


def test_traces_do_not_empty_the_database_that_the_rows_go_to(tmp_path: Path) -> None:
    words = ("run", "-e", PACKETS, "-r", DEMO_CAPTURE, "-q", "-o", "duckdb:rows.duckdb")
    assert gigastream(*words, cwd=tmp_path).code == 0
    kept = (tmp_path / "rows.duckdb").read_bytes()
    refused = gigastream(*words, "--trace", "rows.duckdb", cwd=tmp_path)
    assert refused.code == 2
    assert "--trace rows.duckdb and -o duckdb:rows.duckdb are one in the other" in refused.err
    assert (tmp_path / "rows.duckdb").read_bytes() == kept
    (tmp_path / "kept").write_text("of another run")
    (tmp_path / "none.csv").write_text("a,b\n")
    words = ("run", "-e", PACKETS, "-r", DEMO_CAPTURE, "-o", "duckdb:none.csv", "--trace", "kept")
    assert gigastream(*words, cwd=tmp_path).code == 2
    assert (tmp_path / "kept").read_text() == "of another run"


def test_two_queries_do_not_share_a_file(tmp_path: Path) -> None:
    (tmp_path / "query.csv").write_text("of another run")
    (tmp_path / "query2.csv").symlink_to(tmp_path / "query.csv")
    words = ("run", "-e", PACKETS, "-e", PACKETS, "-r", DEMO_CAPTURE, "-o", f"csv:{tmp_path}")
    result = gigastream(*words)
    assert result.code == 2
    assert "which other rows go to" in result.err
    assert (tmp_path / "query.csv").read_text() == "of another run"


def test_a_spool_that_is_read_is_not_written(tmp_path: Path) -> None:
    root = tmp_path / "spool"
    assert gigastream("run", "-e", PACKETS, "-r", DEMO_CAPTURE, "-o", f"spool:{root}").code == 0
    (manifest,) = root.rglob("manifest-*")
    before = manifest.read_bytes()
    result = gigastream("run", "--spool", root, "-o", f"csv:{manifest}")
    assert result.code == 2
    assert manifest.read_bytes() == before


# ---- who reads nothing ----


def start(*words: object, **options: Any) -> subprocess.Popen[bytes]:
    command = [*COMMAND, "run", "-o", "json", "--stats", "json", "-e", PACKETS, *map(str, words)]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0, **options
    )


def fill_the_pipe(process: subprocess.Popen[bytes]) -> None:
    """Wait until stdout takes no more, and no more is read, or all was."""
    wait_until(lambda: not _takes_rows(process), "stdout to be full")
    wait_until(lambda: _reads_no_more(account_so_far(process)), "the engine to wait or to end")


def _takes_rows(process: subprocess.Popen[bytes]) -> bool:
    """Whether there is room in the pipe that is its stdout."""
    stdout = os.open(f"/proc/{process.pid}/fd/1", os.O_WRONLY)
    try:
        return bool(select.select([], [stdout], [], 0)[1])
    finally:
        os.close(stdout)


def _reads_no_more(account: dict[str, Any]) -> bool:
    return bool(account["output_waits"] > 0 or account["sources"][0]["read"] == ALL)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("queue", ["1kB", "64MiB"])
def test_a_reader_who_reads_nothing_does_not_keep_it_from_ending(
    number: signal.Signals, queue: str
) -> None:
    process = start("-r", DEMO_CAPTURE, *SMALL, "--output-queue", queue)
    fill_the_pipe(process)
    process.send_signal(number)
    process.wait(PATIENCE_S)
    out, err = process.communicate(timeout=PATIENCE_S)
    account, message, _ = err.decode().splitlines()
    assert process.returncode == 1
    counts = json.loads(account)
    assert counts["rows_lost"] > 0
    assert counts["rows"] <= len(out.splitlines())
    assert "stdout: nobody reads it" in message
    assert f"{counts['rows_lost']:,} rows are lost" in message
    assert (counts["output_waits"] > 0) == (queue == "1kB")


def test_a_reader_who_reads_late_gets_all_after_ctrl_c() -> None:
    process = start("-r", DEMO_CAPTURE, *SMALL)
    fill_the_pipe(process)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE_S)
    counts = json.loads(err)
    assert process.returncode == 0
    assert counts["rows"] == len(out.splitlines()) > 0
    assert counts["rows_lost"] == 0


def test_sighup_answers_the_open_windows() -> None:
    process = start("-r", "-", "-e", "SELECT tb, count(*) AS n FROM PKT GROUP BY time/600 AS tb",
                    stdin=subprocess.PIPE)  # fmt: skip
    assert process.stdout is not None
    write_all(process.stdin, DEMO_CAPTURE.read_bytes())
    first = process.stdout.readline()
    process.send_signal(signal.SIGHUP)
    out, err = process.communicate(timeout=PATIENCE_S)
    account = json.loads(err)
    found = [json.loads(line) for line in (first + out).splitlines()]
    assert process.returncode == 0
    assert (
        sum(row["n"] for row in found if row["query"] == "query2") == account["sources"][0]["read"]
    )


def test_nohup_keeps_sighup_away() -> None:
    process = start("-r", "-", stdin=subprocess.PIPE,
                    preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))  # fmt: skip
    assert process.stdout is not None
    write_all(process.stdin, DEMO_CAPTURE.read_bytes())
    process.stdout.readline()
    process.send_signal(signal.SIGHUP)
    out, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0
    assert json.loads(err)["sources"][0]["read"] == ALL
    assert len(out.splitlines()) == ALL - 1


def test_sigusr1_tells_the_account_so_far() -> None:
    process = start("-r", "-", stdin=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stderr is not None
    write_all(process.stdin, DEMO_CAPTURE.read_bytes())
    process.stdout.readline()
    process.send_signal(signal.SIGUSR1)
    so_far = json.loads(process.stderr.readline())
    assert 0 < so_far["sources"][0]["read"] <= ALL
    out, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0
    assert json.loads(err)["rows"] == ALL == len(out.splitlines()) + 1


def test_descriptors_that_are_closed_stay_nobodys() -> None:
    """No file of ours becomes stdin, stdout or stderr."""
    script = (
        "import os, sys; sys.path.insert(0, '.')\n"
        "from gigastream.cli.stderr import open_standard_streams\n"
        "for number in (0, 1, 2): os.close(number)\n"
        "open_standard_streams()\n"
        "os._exit(0 if os.open('/dev/null', 0) == 3 else 1)\n"
    )
    assert subprocess.run([COMMAND[0], "-c", script], check=False, timeout=600).returncode == 0
    assert os.path.exists("/dev/null")
