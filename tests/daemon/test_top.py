# SPDX-License-Identifier: Apache-2.0
"""gigastream top in a real terminal, beside a real daemon."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest

from gigastream.daemon.messages import DropSet
from tests.cli.command import COMMAND, gigastream
from tests.daemon.resident import Daemon
from tests.daemon.screens import LINES, Screen, screen_of
from tests.waiting import wait_until

SENDERS = (
    "DEFINE { query_name senders; } "
    "SELECT tb, srcIP, count(*) AS packets FROM IP GROUP BY time AS tb, srcIP"
)


@pytest.fixture
def screen(daemon: Daemon) -> Iterator[Screen]:
    daemon.add("counts")
    daemon.add("talkers", SENDERS)
    with screen_of(daemon.folder, *COMMAND, "top", "--socket", daemon.folder / "socket") as made:
        made.wait_for("counts.counts", "talkers.senders", "n next query")
        yield made


@pytest.mark.privileged
def test_links_queries_and_the_rows_of_one(traffic: None, screen: Screen) -> None:
    shown = screen.wait_for("counts.counts   n next query", "tb", "█")
    assert "near" in shown
    assert len(screen.lines()) <= LINES
    screen.press("n")
    screen.wait_for("talkers.senders   n next query", "srcIP", "10.20.0.")
    screen.press("n", "q")  # in one write: none is lost
    assert screen.ended() == 0


@pytest.mark.long
@pytest.mark.privileged
def test_a_screen_that_grows(daemon: Daemon, screen: Screen) -> None:
    for number in range(9):
        daemon.add(f"more{number}")
    shown = screen.wait_for("8 of 11 queries")
    assert "more8" not in shown
    screen.resize(200, 50)
    screen.wait_for("more8")
    assert max(map(len, screen.lines())) <= 200
    screen.resize(80, 24)
    screen.wait_for("8 of 11 queries")
    assert max(map(len, screen.lines())) <= 80
    screen.press("C-c")
    assert screen.ended() == 0


@pytest.mark.privileged
def test_a_daemon_that_ends(daemon: Daemon, screen: Screen) -> None:
    assert daemon.stop() == 0
    assert screen.ended() == 2
    shown = " ".join(screen.text().split())
    assert "the daemon has hung up" in shown
    assert "Traceback" not in shown


@pytest.mark.long
@pytest.mark.privileged
def test_a_capture_that_begins_again(daemon: Daemon, traffic: None, screen: Screen) -> None:
    pid = daemon.status().capture_pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    screen.wait_for("begun again 1 time", "tb", "█")
    screen.press("q")
    assert screen.ended() == 0


@pytest.mark.privileged
def test_a_set_that_goes_and_one_that_comes(daemon: Daemon, traffic: None, screen: Screen) -> None:
    screen.wait_for("counts.counts   n next query", "tb")
    daemon.ask(DropSet(name="counts"))
    screen.wait_for("talkers.senders   n next query", "10.20.0.")
    daemon.ask(DropSet(name="talkers"))
    daemon.add("talkers", SENDERS.replace("packets", "again"))
    screen.wait_for("talkers.senders   n next query", "again", "10.20.0.")
    screen.press("q")
    assert screen.ended() == 0


@pytest.mark.privileged
def test_rows_that_are_left_are_not_followed_any_more(daemon: Daemon, screen: Screen) -> None:
    before = _descriptors(daemon)
    screen.press(*"n" * 40)
    screen.press("n")
    wait_until(lambda: _descriptors(daemon) <= before + 1, "that it has hung up")
    screen.wait_for("talkers.senders   n next query")
    screen.press("q")
    assert screen.ended() == 0


def _descriptors(daemon: Daemon) -> int:
    """Of the supervisor, of which each connection has one."""
    return len(os.listdir(f"/proc/{daemon.process.pid}/fd"))


def test_no_daemon() -> None:
    refused = gigastream("top", "--socket", "/nowhere/socket")
    assert refused.code == 2
    assert "there is no daemon at /nowhere/socket" in refused.err
    variables = {**os.environ, "GIGASTREAM_SOCKET": "/elsewhere/socket"}
    refused = gigastream("top", "--once", env=variables)
    assert "there is no daemon at /elsewhere/socket" in refused.err


@pytest.mark.privileged
def test_no_terminal(daemon: Daemon) -> None:
    refused = gigastream("top", "--socket", daemon.folder / "socket")
    assert refused.code == 2
    assert "top needs a terminal" in refused.err
    assert "--once" in refused.err
    daemon.add("counts")
    wait_until(lambda: bool(daemon.report().sets), "a report of the set")
    once = gigastream("top", "--once", "--socket", daemon.folder / "socket")
    assert once.code == 0
    assert "counts.counts" in once.out.decode()
