# SPDX-License-Identifier: Apache-2.0
"""Servers of `run --on spark --warm`, and what may be at their sockets."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import struct
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from captures import DEMO_CAPTURE
from cli.command import COMMAND, Result, gigastream, write_all

from spark_sink.session import WARM
from spark_sink.warm import place
from tests.waiting import wait_until

SECONDS = 900
ON = ("--on", "spark", "--warm")
DEMO = ("-r", str(DEMO_CAPTURE))
STDIN = ("-r", "-", "--slack", "0.1s")


def environment(runtime: Path, temporary: Path) -> dict[str, str]:
    return {**os.environ, "XDG_RUNTIME_DIR": str(runtime), "TMPDIR": str(temporary)}


def asked(runtime: Path, temporary: Path, *words: str | Path) -> Result:
    """Run `gigastream run --on spark --warm` to its end."""
    env = environment(runtime, temporary)
    return gigastream("run", *ON, *words, env=env, cwd=temporary, seconds=SECONDS)


@contextmanager
def asking(runtime: Path, temporary: Path, *words: str) -> Iterator[subprocess.Popen[bytes]]:
    """Give a caller with an open pipe; its stdout and stderr are files `out` and `err`."""
    with (temporary / "out").open("wb") as out, (temporary / "err").open("wb") as err:
        caller = subprocess.Popen(
            [*COMMAND, "run", *ON, *STDIN, *words],
            env=environment(runtime, temporary),
            stdin=subprocess.PIPE,
            stdout=out,
            stderr=err,
            bufsize=0,
        )
    try:
        write_all(caller.stdin, DEMO_CAPTURE.read_bytes())
        yield caller
    finally:
        caller.kill()
        caller.communicate()


def wait_until_read(command: subprocess.Popen[bytes], errors: Path, packets: int) -> None:
    """Ask a run with `--stats json` for its account until it has read so many.

    That its pipe is empty does not say so: what was taken from there may be still to be looked at.
    """

    def is_read() -> bool:
        command.send_signal(signal.SIGUSR1)
        told = accounts(errors)
        return bool(told) and told[-1]["sources"][0]["read"] >= packets

    wait_until(is_read, "all to be read")


def accounts(errors: Path) -> list[dict[str, Any]]:
    """All that a run with `--stats json` has told by now, whose stderr is a file."""
    whole, _, _ = errors.read_text().rpartition("\n")
    return [json.loads(line) for line in whole.splitlines() if line.startswith("{")]


def the_name() -> str:
    """Of the server that is asked in this environment."""
    return place.name(WARM)


def the_socket(runtime: Path) -> Path:
    return runtime / "gigastream" / f"{the_name()}.socket"


def connected(path: Path) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    descriptor = os.open(path.parent, os.O_RDONLY)
    try:
        connection.connect(f"/proc/self/fd/{descriptor}/{path.name}")
    finally:
        os.close(descriptor)
    return connection


def servers_pid(path: Path) -> int:
    with connected(path) as connection:
        size = struct.calcsize("3i")
        found = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)
        return int(struct.unpack("3i", found)[0])


def wait_for_end(process: int) -> None:
    """Wait until a process is over, whose parent need not have taken note of it."""
    try:
        ended = os.pidfd_open(process)
    except ProcessLookupError:
        return
    try:
        assert select.select([ended], [], [], SECONDS)[0], f"{process} did not end"
    finally:
        os.close(ended)
