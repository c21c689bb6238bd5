# SPDX-License-Identifier: Apache-2.0
"""A session that stays: the rows and accounts that there are without, whatever its socket meets."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import socket
import struct
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from captures import DEMO_CAPTURE
from cli.command import COMMAND, gigastream
from spark_command.written import SETS, answered_here, in_order
from spark_session import why_no_spark

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(why_no_spark() is not None, reason=str(why_no_spark())),
]
SECONDS = 900
WORDS = ("run", "-e", SETS, "-r", str(DEMO_CAPTURE), "--on", "spark", "--warm")


@pytest.fixture(scope="module")
def runtime(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where servers listen; they end when their sockets are removed."""
    folder = tmp_path_factory.mktemp("a [run], time " + "long " * 20)
    yield folder
    for lock in folder.glob("gigastream/*.lock"):
        lock.with_suffix(".socket").unlink(missing_ok=True)
        with lock.open("w") as held:
            fcntl.flock(held, fcntl.LOCK_EX)


def environment(runtime: Path, temporary: Path) -> dict[str, str]:
    return {**os.environ, "XDG_RUNTIME_DIR": str(runtime), "TMPDIR": str(temporary)}


def asked(runtime: Path, temporary: Path, *words: str) -> Any:
    env = environment(runtime, temporary)
    return gigastream(*WORDS, *words, env=env, cwd=temporary, seconds=SECONDS)


def the_socket(runtime: Path) -> Path:
    """There is one server."""
    (found,) = (runtime / "gigastream").glob("*.socket")
    return found


def servers_pid(path: Path) -> int:
    with connected(path) as connection:
        size = struct.calcsize("3i")
        found = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)
        return int(struct.unpack("3i", found)[0])


def connected(path: Path) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    descriptor = os.open(path.parent, os.O_RDONLY)
    try:
        connection.connect(f"/proc/self/fd/{descriptor}/{path.name}")
    finally:
        os.close(descriptor)
    return connection


def test_it_answers_as_here_and_the_next_is_answered_by_the_same(
    runtime: Path, tmp_path: Path
) -> None:
    pids = set()
    for _ in range(2):
        result = asked(runtime, tmp_path, "--stats", "json")
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
        results = list(pool.map(lambda _: asked(runtime, tmp_path), range(3)))
    for result in results:
        assert result.code == 0
        assert in_order(map(json.loads, result.lines)) == answered_here(SETS)


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
    asked(runtime, tmp_path)
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
    result = asked(runtime, tmp_path)
    assert in_order(map(json.loads, result.lines)) == answered_here(SETS)


def test_a_caller_that_is_killed_leaves_nothing_that_runs(runtime: Path, tmp_path: Path) -> None:
    """Its pipe would keep it for ever."""
    words = (*WORDS[:3], "-r", "-", *WORDS[5:])
    with subprocess.Popen(
        [*COMMAND, *words], env=environment(runtime, tmp_path), stdin=subprocess.PIPE
    ) as caller:
        checkpoints = tmp_path.glob("gigastream-run-*/checkpoints")
        deadline = time.monotonic() + SECONDS
        assert caller.stdin is not None
        caller.stdin.write(DEMO_CAPTURE.read_bytes())
        caller.stdin.flush()
        while not any(tmp_path.glob("gigastream-run-*/checkpoints")):
            assert time.monotonic() < deadline, list(checkpoints)
            time.sleep(0.1)
        threads = _threads(servers_pid(the_socket(runtime)))
        caller.kill()
    while _threads(servers_pid(the_socket(runtime))) >= threads:
        assert time.monotonic() < deadline
        time.sleep(0.1)


def _threads(pid: int) -> int:
    return len(os.listdir(f"/proc/{pid}/task"))


def test_one_that_was_killed_is_replaced(runtime: Path, tmp_path: Path) -> None:
    asked(runtime, tmp_path)
    before = servers_pid(the_socket(runtime))
    os.kill(before, signal.SIGKILL)
    result = asked(runtime, tmp_path)
    assert result.code == 0
    assert in_order(map(json.loads, result.lines)) == answered_here(SETS)
    assert servers_pid(the_socket(runtime)) != before


def test_where_others_may_enter_nothing_is_asked(tmp_path: Path) -> None:
    folder = tmp_path / "gigastream"
    folder.mkdir()
    folder.chmod(0o777)
    result = asked(tmp_path, tmp_path)
    assert result.code == 2
    assert "can be written by others" in result.err
    assert "Traceback" not in result.err


def test_without_spark_there_is_nothing_to_keep(tmp_path: Path) -> None:
    result = gigastream("run", "-e", SETS, "-r", str(DEMO_CAPTURE), "--warm", cwd=tmp_path)
    assert result.code == 2
    assert "--on spark --warm" in result.err
