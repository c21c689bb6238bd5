# SPDX-License-Identifier: Apache-2.0
"""A session that stays: the rows and accounts that there are without, whatever its socket meets."""

from __future__ import annotations

import json
import os
import signal
import socket
import struct
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest
from captures import DEMO_CAPTURE
from cli.command import Result, gigastream
from spark_command.warm import (
    DEMO,
    ON,
    SECONDS,
    accounts,
    asked,
    asking,
    connected,
    environment,
    servers_pid,
    the_socket,
    wait_until_read,
)
from spark_command.written import QUERY, SETS, answered_here, in_order
from spark_session import why_no_spark

from gigastream.outputs import FORMATS
from tests.waiting import wait_until

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(why_no_spark() is not None, reason=str(why_no_spark())),
]
BOTH = ("-e", SETS, *DEMO)


def test_it_answers_as_here_and_the_next_is_answered_by_the_same(
    runtime: Path, tmp_path: Path
) -> None:
    pids = set()
    for _ in range(2):
        result = asked(runtime, tmp_path, *BOTH, "--stats", "json")
        assert result.code == 0
        assert in_order(map(json.loads, result.lines)) == answered_here(SETS)
        account = json.loads(result.err)
        counted = {o["name"]: (o["kind"], o["rows_out"]) for o in account["operators"]}
        names = [row["query"] for row in answered_here(SETS)]
        assert counted == {name: ("on Spark", names.count(name)) for name in ("talkers", "resets")}
        pids.add(servers_pid(the_socket(runtime)))
    assert len(pids) == 1
    folder = runtime / "gigastream"
    assert folder.stat().st_mode & 0o777 == 0o700
    assert not list(tmp_path.glob("gigastream-run-*"))


def test_several_ask_at_once(runtime: Path, tmp_path: Path) -> None:
    with ThreadPoolExecutor() as pool:
        results = list(pool.map(lambda _: asked(runtime, tmp_path, *BOTH), range(3)))
    for result in results:
        assert result.code == 0
        assert in_order(map(json.loads, result.lines)) == answered_here(SETS)


def _warmed(runtime: Path, temporary: Path) -> None:
    """From now on a server is there."""
    result = asked(runtime, temporary, *BOTH)
    assert result.code == 0, result.err
    assert the_socket(runtime).exists()


@pytest.mark.parametrize(
    "sent",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        b"a" + struct.pack("<I", 1 << 31),
        b"a\x02\0\0\0[]",
        b"a\x02\0\0\0\xff\xff",
        b"w\0\0\0\0",
        b"",
    ],
)
def test_garbage_is_refused_and_the_next_caller_answered(
    sent: bytes, runtime: Path, tmp_path: Path
) -> None:
    _warmed(runtime, tmp_path)
    with connected(the_socket(runtime)) as connection:
        connection.sendall(sent)
        connection.shutdown(socket.SHUT_WR)
        connection.settimeout(SECONDS)
        said, was_reset = b"", False
        try:
            while part := connection.recv(1 << 16):
                said += part
        except ConnectionResetError:  # not all was read
            was_reset = True
    told = b"no question" in said or b"no message" in said
    assert (told or was_reset) == bool(sent)
    result = asked(runtime, tmp_path, *BOTH)
    assert in_order(map(json.loads, result.lines)) == answered_here(SETS)


def test_a_caller_that_is_killed_leaves_nothing(runtime: Path, tmp_path: Path) -> None:
    """Its pipe would keep it for ever."""
    _warmed(runtime, tmp_path)
    server, folders = servers_pid(the_socket(runtime)), "gigastream-run-*"
    with asking(runtime, tmp_path, "-e", SETS) as caller:
        # Rows have come: its threads are there, all of them.
        wait_until(lambda: (tmp_path / "out").stat().st_size > 0, "closed windows")
        threads = _threads(server)
        caller.kill()
    wait_until(lambda: _threads(server) < threads, "the end of its queries")
    wait_until(lambda: not any(tmp_path.glob(folders)), "the end of its folder")


def _threads(pid: int) -> int:
    return len(os.listdir(f"/proc/{pid}/task"))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_to_the_caller_answers_the_open_windows(
    number: signal.Signals, runtime: Path, tmp_path: Path
) -> None:
    last = max(row["tb"] for row in answered_here())
    closed = [row for row in answered_here() if row["tb"] < last]
    rows = tmp_path / "out"
    with asking(runtime, tmp_path, "-e", QUERY, "-o", "json", "--stats", "json") as caller:
        wait_until(lambda: rows.read_bytes().count(b"\n") == len(closed), "closed windows")
        wait_until_read(caller, tmp_path / "err", 2010)
        caller.send_signal(number)
        assert caller.wait(SECONDS) == 0
    assert in_order(map(json.loads, rows.read_text().splitlines())) == answered_here()
    assert accounts(tmp_path / "err")[-1]["rows"] == len(answered_here())


@pytest.mark.parametrize("form", FORMATS)
def test_each_format_is_as_here(form: str, runtime: Path, tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    gigastream("run", "-e", QUERY, *DEMO, "-o", f"{form}:{here}")
    result = asked(runtime, tmp_path, "-e", QUERY, *DEMO, "-o", f"{form}:{there}")
    assert result.code == 0
    assert _content(form, there) == _content(form, here)


def _content(form: str, path: Path) -> Any:
    """Rows of a window have no order."""
    if form == "parquet":
        table = pyarrow.parquet.read_table(path)
    elif form == "arrow":
        table = pyarrow.ipc.open_stream(path.read_bytes()).read_all()
    else:
        lines = sorted(path.read_text().splitlines())
        assert len(lines) >= len(answered_here())
        return lines
    assert len(table) == len(answered_here())
    return table.schema, table.sort_by([(name, "ascending") for name in table.column_names])


def test_a_damaged_capture_is_told_and_what_came_before_answered(
    runtime: Path, tmp_path: Path
) -> None:
    capture = tmp_path / "cut.pcap"
    capture.write_bytes(DEMO_CAPTURE.read_bytes()[:-10])
    words = ("-q", "-e", QUERY, "-r", str(capture))
    _is_the_same(asked(runtime, tmp_path, *words), gigastream("run", *words), 1)


def test_what_spark_cannot_run_is_told_as_without(runtime: Path, tmp_path: Path) -> None:
    """The server that is there says so; the words are the caller's."""
    _warmed(runtime, tmp_path)
    wrong = "SELECT s, count(*) FROM PKT GROUP BY 100000000000/(time+1) AS s"
    for query in (wrong, "SELECT nothing FROM PKT"):
        words = ("-e", query, *DEMO)
        without = gigastream("run", "--on", "spark", *words, cwd=tmp_path)
        _is_the_same(asked(runtime, tmp_path, *words), without, 2)


def _is_the_same(result: Result, without: Result, code: int) -> None:
    assert (result.code, without.code) == (code, code)
    assert result.err == without.err
    assert sorted(result.lines) == sorted(without.lines)


def test_one_that_was_killed_is_replaced(runtime: Path, tmp_path: Path) -> None:
    _warmed(runtime, tmp_path)
    before = servers_pid(the_socket(runtime))
    os.kill(before, signal.SIGKILL)
    result = asked(runtime, tmp_path, *BOTH)
    assert result.code == 0
    assert in_order(map(json.loads, result.lines)) == answered_here(SETS)
    assert servers_pid(the_socket(runtime)) != before


def test_where_others_may_enter_nothing_is_asked(tmp_path: Path) -> None:
    folder = tmp_path / "gigastream"
    folder.mkdir()
    folder.chmod(0o777)
    result = asked(tmp_path, tmp_path, *BOTH)
    assert result.code == 2
    assert "can be written by others" in result.err
    assert "Traceback" not in result.err


def test_a_caller_leaves_pyspark_to_the_server(runtime: Path, tmp_path: Path) -> None:
    """To import it takes as long as the rest of the command."""
    _warmed(runtime, tmp_path)
    env = {**environment(runtime, tmp_path), "PYTHONPROFILEIMPORTTIME": "1"}
    result = gigastream("run", *ON, *BOTH, env=env, cwd=tmp_path)
    assert in_order(map(json.loads, result.lines)) == answered_here(SETS)
    assert "| spark_sink.warm.client" in " ".join(result.err.split())
    assert " pyspark\n" not in result.err


def test_a_query_that_reads_a_file_above_the_border_is_answered_without(
    runtime: Path, tmp_path: Path
) -> None:
    """Its name would have to be believed of a spool."""
    (tmp_path / "nets").write_text("10.0.0.0/8,1\n")
    query = f"""DEFINE {{ query_name talkers; visibility internal; }} {QUERY};
        DEFINE {{ query_name nets; }}
        SELECT tb, getlpmid(srcIP, '{tmp_path / "nets"}') AS net, packets FROM talkers"""
    before = set(runtime.rglob("*.socket"))
    result = asked(runtime, tmp_path, "-e", query, *DEMO)
    assert result.code == 0
    assert in_order(map(json.loads, result.lines)) == answered_here(query)
    assert "without --warm: the queries read a file above the border" in result.err
    assert set(runtime.rglob("*.socket")) == before


def test_without_spark_there_is_nothing_to_keep(tmp_path: Path) -> None:
    for words in (("--warm",), ("--on", "spark", "--warm-idle", "1s")):
        result = gigastream("run", *BOTH, *words, cwd=tmp_path)
        assert result.code == 2
        assert "--on spark --warm" in result.err
