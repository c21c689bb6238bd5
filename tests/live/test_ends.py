# SPDX-License-Identifier: Apache-2.0
"""What ends a capture, what is told at its begin, and packets that are not those of the wire."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import COMMAND
from tests.live.namespace import (
    PATIENCE_S,
    QUERY_ALL,
    Namespace,
    check_account,
    folder_for_all,
    needs,
    running,
    totals,
    wait_until,
)
from tests.live.test_veth import DEMO_CAPTURE, TAGGED, neighbours, replay, send

pytestmark = [pytest.mark.privileged, needs("tcpreplay")]


@pytest.mark.parametrize("rings", ["1", "3"])
def test_so_many_packets_exactly(space: Namespace, tmp_path: Path, rings: str) -> None:
    """What the kernel has captured besides is counted as unread."""
    words = ["-i", space.far, "--fanout", rings, "--count", "1234", "-e", QUERY_ALL]
    with running(space, *words, folder=tmp_path) as run:
        replay(space, DEMO_CAPTURE, "--topspeed")
        run.process.wait(PATIENCE_S)
        account = json.loads(run.told().splitlines()[-1])
        rows = totals(run.rows())
    assert run.process.returncode == 0
    assert rows["n"] == sum(source["read"] for source in account["sources"]) == 1234
    for source in account["sources"]:
        known = source["read"] + source["kernel_dropped"] + source["unread"]
        assert source["kernel_received"] == known


@pytest.mark.parametrize("rings", ["1", "3"])
def test_a_limit_ends_it(space: Namespace, tmp_path: Path, rings: str) -> None:
    query = "SELECT time, len FROM PKT LIMIT 100"
    words = ["-i", space.far, "--fanout", rings, "-e", query]
    with running(space, *words, folder=tmp_path) as run:
        replay(space, DEMO_CAPTURE, "--topspeed")
        run.process.wait(PATIENCE_S)
        account = json.loads(run.told().splitlines()[-1])
        assert len(run.rows()) == account["rows"] == 100
    assert run.process.returncode == 0
    (counted,) = account["operators"]
    assert counted["rows_in"] == 100 + counted["beyond_limit"]


@pytest.mark.parametrize("words", [["--duration", "1s"], ["--windows", "1"]], ids=" ".join)
def test_a_time_or_a_window_ends_it(space: Namespace, tmp_path: Path, words: list[str]) -> None:
    with running(space, "-i", space.far, *words, "-e", QUERY_ALL, folder=tmp_path) as run:
        replay(space, DEMO_CAPTURE, "--topspeed")
        run.process.wait(PATIENCE_S)
        account: dict[str, Any] = json.loads(run.told().splitlines()[-1])
        rows = run.rows()
    assert run.process.returncode == 0
    check_account(account)
    assert len(rows) == 1 or words[0] == "--duration"


def test_it_says_that_it_listens_when_it_does(space: Namespace, tmp_path: Path) -> None:
    with running(space, "-i", space.far, "-i", space.near, "-e", QUERY_ALL, folder=tmp_path) as run:
        wait_until(lambda: "listening on" in run.told(), "to hear that it listens")
        assert run.told() == "gigastream: listening on far, near\n"
        run.stop()


@pytest.mark.long
@pytest.mark.parametrize("output", ["json", "spool"])
def test_whoever_hears_that_it_listens_may_end_it(space: Namespace, output: str) -> None:
    """A signal that comes right then ends it in good order, each time."""
    words = ["run", "-i", space.far, "-e", QUERY_ALL, "-o"]
    for _ in range(4):
        with folder_for_all() as folder:
            where = output if output == "json" else f"spool:{folder / 'spool'}"
            process = space.start(
                *(*COMMAND, *words, where),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
            )
            assert process.stderr is not None
            assert process.stderr.readline() == "gigastream: listening on far\n"
            process.send_signal(signal.SIGTERM)
            said = process.stderr.read()
            assert process.wait(PATIENCE_S) == 0
            assert "far (far): received 0 = read 0" in said


def test_a_filter_that_meets_tags_is_told(space: Namespace, tmp_path: Path) -> None:
    words = ["-i", space.far, "-e", QUERY_ALL, "tcp", "port", "80"]
    with running(space, *words, folder=tmp_path) as run:
        send(space, *TAGGED.values())
        wait_until(lambda: "do not pass the filter 'tcp port 80'" in run.told(), "the hint")
        assert run.stop()["sources"][0]["filtered_tagged"] == 2


def test_packets_that_are_joined_are_told(space: Namespace, tmp_path: Path) -> None:
    """A transfer between two hosts whose ends of the cable leave cutting packets to each other."""
    code = (
        "import socket, sys\n"
        "s = socket.create_server(('10.99.0.2', 9999)); print('listens', flush=True)\n"
        "c, _ = s.accept()\n"
        "while c.recv(1 << 16): pass\n"
    )
    client = (
        "import socket; s = socket.create_connection(('10.99.0.2', 9999))\n"
        "s.sendall(bytes(4_000_000))\n"
    )
    with (
        neighbours(space) as other,
        running(space, "-i", space.far, "-e", QUERY_ALL, folder=tmp_path) as run,
    ):
        server = space.start(sys.executable, "-c", code, stdout=subprocess.PIPE)
        try:
            assert server.stdout is not None
            assert server.stdout.readline() == "listens\n"
            other.run(sys.executable, "-c", client)
            wait_until(lambda: "joined from several" in run.told(), "the warning")
        finally:
            server.send_signal(signal.SIGKILL)
            server.wait()
        assert run.stop()["sources"][0]["oversized"] > 0


def test_the_links_are_listed(space: Namespace) -> None:
    space.ip("addr", "add", "10.99.0.7/24", "dev", space.far)
    space.ip("link", "set", space.near, "down")
    said = space.run(*COMMAND, "run", "-D").splitlines()
    lines = {line.split()[0]: line for line in said}
    assert "10.99.0.7" in lines["far"]
    assert lines["near"].split()[1] == "down"
    assert lines["any"].endswith("by libpcap")
