# SPDX-License-Identifier: Apache-2.0
"""gigastream top in a real terminal, beside a real daemon."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest

from tests.cli.command import COMMAND, gigastream
from tests.daemon.resident import Daemon
from tests.daemon.screens import Screen, screen_of
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
def test_links_queries_and_the_rows_of_one(daemon: Daemon, screen: Screen) -> None:
    screen.wait_for("counts.counts   n next query")
    daemon.send(2000)
    shown = screen.wait_for("tb", "█")
    assert "near" in shown
    assert len(screen.lines()) <= 24
    screen.press("n")
    screen.wait_for("talkers.senders   n next query")
    daemon.send(2000)
    screen.wait_for("srcIP", "10.20.0.")
    screen.press("n", "q")  # in one write: none is lost
    assert screen.ended() == 0


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


@pytest.mark.privileged
def test_a_capture_that_begins_again(daemon: Daemon, screen: Screen) -> None:
    pid = daemon.status().capture_pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    screen.wait_for("begun again 1 time")
    daemon.send(2000)
    screen.wait_for("tb", "█")
    screen.press("q")
    assert screen.ended() == 0


@pytest.mark.privileged
def test_a_set_that_has_gone_and_one_that_comes(daemon: Daemon, screen: Screen) -> None:
    for name in ("counts", "talkers"):
        assert gigastream("ctl", "--socket", daemon.folder / "socket", "drop", name).code == 0
    wait_until(lambda: "counts.counts  " not in screen.text(), "that it has gone")
    daemon.add("again", SENDERS)
    screen.wait_for("again.senders   n next query")
    daemon.send(2000)
    screen.wait_for("10.20.0.")
    screen.press("q")
    assert screen.ended() == 0


@pytest.mark.privileged
def test_rows_that_are_left_are_not_followed_any_more(daemon: Daemon, screen: Screen) -> None:
    for _ in range(70):  # more than a daemon lets speak with it
        screen.press("n")
    screen.wait_for("counts.counts   n next query")
    daemon.send(2000)
    screen.wait_for("tb", "█")
    screen.press("q")
    assert screen.ended() == 0


def test_without_a_terminal() -> None:
    refused = gigastream("top", "--socket", "/nowhere/socket")
    assert refused.code == 2
    assert "there is no daemon at /nowhere/socket" in refused.err


@pytest.mark.privileged
def test_no_terminal(daemon: Daemon) -> None:
    refused = gigastream("top", "--socket", daemon.folder / "socket")
    assert refused.code == 2
    assert "top needs a terminal" in refused.err
    assert "--once" in refused.err
    daemon.add("counts")
    once = gigastream("top", "--once", "--socket", daemon.folder / "socket")
    assert once.code == 0
    assert "counts.counts" in once.out.decode()
