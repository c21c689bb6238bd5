# SPDX-License-Identifier: Apache-2.0
"""What a server of `--warm` outlives, and what it does not: the next run starts another then."""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import time
from pathlib import Path

import pytest
from spark_command.warm import DEMO, SECONDS, asked, asking, connected, servers_pid, the_socket
from spark_command.written import QUERY, answered_here, in_order
from spark_session import why_no_spark

from spark_sink.warm.channel import HELLO
from tests.waiting import wait_until

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(why_no_spark() is not None, reason=str(why_no_spark())),
]
_TWO_LOOKS_S = 2.5
_LOCAL = b"-Dspark.local.dir="


def test_it_goes_with_its_java_and_its_own_folder_alone(
    runtime: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not with a folder of its first caller's; nor has it that one's secrets."""
    monkeypatch.setenv("A_SECRET", "of the first caller")
    first = answering(runtime, tmp_path / "first")
    assert b"A_SECRET" not in Path(f"/proc/{first}/environ").read_bytes()
    shutil.rmtree(tmp_path / "first")
    assert answering(runtime, tmp_path / "second") == first
    assert is_there_after_want(runtime, first)
    java, _ = java_of(first)
    with asking(runtime, tmp_path / "second", "-e", QUERY, "-o", "json") as caller:
        wait_until(lambda: (tmp_path / "second" / "out").stat().st_size > 0, "closed windows")
        os.kill(java, signal.SIGKILL)
        assert caller.wait(SECONDS) == 1
    assert "Spark's Java has ended" in (tmp_path / "second" / "err").read_text()
    second = answering(runtime, tmp_path / "second")
    assert second != first
    _, local = java_of(second)
    shutil.rmtree(local.parent)
    assert answering(runtime, tmp_path / "second") not in (first, second)


def answering(runtime: Path, temporary: Path) -> int:
    """The process that answers."""
    temporary.mkdir(exist_ok=True)
    result = asked(runtime, temporary, "-q", "-e", QUERY, *DEMO)
    assert (result.code, result.err) == (0, "")
    assert in_order(map(json.loads, result.lines)) == answered_here()
    return servers_pid(the_socket(runtime))


def is_there_after_want(runtime: Path, server: int) -> bool:
    """Whether it is the same after it could open no file, while somebody asked for something."""
    limits = resource.prlimit(server, resource.RLIMIT_NOFILE)
    resource.prlimit(server, resource.RLIMIT_NOFILE, (0, limits[1]))
    with connected(the_socket(runtime)) as connection:
        connection.settimeout(SECONDS)
        time.sleep(_TWO_LOOKS_S)
        resource.prlimit(server, resource.RLIMIT_NOFILE, limits)
        return connection.recv(1) == HELLO and servers_pid(the_socket(runtime)) == server


def java_of(server: int) -> tuple[int, Path]:
    """The Java of a server, and where it writes."""
    children = Path(f"/proc/{server}/task/{server}/children").read_text().split()
    for child in map(int, children):
        words = Path(f"/proc/{child}/cmdline").read_bytes().split(b"\0")
        for word in words:
            if word.startswith(_LOCAL):
                return child, Path(os.fsdecode(word.removeprefix(_LOCAL)))
    raise AssertionError(f"{server} has no Java among {children}")
