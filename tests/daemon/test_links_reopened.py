# SPDX-License-Identifier: Apache-2.0
"""Links that are removed and come back, whose rings are opened anew by who may."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from gigastream.daemon.messages import ReloadConfig
from tests.daemon.links import (
    FLOWS,
    NUMBERS,
    capture_pid,
    check_all,
    rows_of,
    send,
    sums,
    totals,
    wait_for_all,
)
from tests.daemon.resident import Daemon, end, started
from tests.live.namespace import Namespace
from tests.processes import descendants, threads_of, wait_until_gone
from tests.waiting import PATIENCE_S, wait_until

pytestmark = pytest.mark.privileged
COUNT = 2_000
CAP_NET_RAW = 1 << 13


def wait_for_state(daemon: Daemon, state: str, rings: int) -> None:
    def is_so() -> bool:
        return [source.link for source in daemon.report().sources] == [state] * rings

    wait_until(is_so, f"the link to be {state}")


def opener_of(daemon: Daemon) -> int:
    """The process that has the capability."""
    (found,) = [
        pid
        for pid in descendants(daemon.process.pid)
        if any(int(thread["CapEff"], 16) == CAP_NET_RAW for thread in threads_of(pid))
    ]
    return found


def remove_and_return(daemon: Daemon, rings: int) -> None:
    daemon.space.ip("link", "del", daemon.space.near)
    wait_for_state(daemon, "gone", rings)
    daemon.space.plug()
    wait_for_state(daemon, "up", rings)


@pytest.mark.parametrize("rings", [1, 2])
def test_a_link_goes_on_where_it_was(space: Namespace, common_folder: Path, rings: int) -> None:
    """Again and again: all that was sent while it was there is in the answer, once."""
    daemon = started(space, common_folder, "--fanout", rings, "--reopen-links")
    try:
        daemon.add("flows", FLOWS, first_window="cut")
        daemon.add("numbers", NUMBERS, first_window="cut")
        wait_for_all(daemon, sent := send(space, COUNT))
        for _ in range(3):
            remove_and_return(daemon, rings)
            sent += send(space, COUNT, first=sent)
            sources = wait_for_all(daemon, sent)
        assert all(source.read for source in sources)
        assert daemon.stop() == 0
        assert totals(rows_of(daemon, "flows")) == sums(sent)
        if rings == 1:
            check_all(rows_of(daemon, "numbers"), sent)
    finally:
        end(daemon)


@pytest.fixture
def daemon(space: Namespace, common_folder: Path) -> Iterator[Daemon]:
    """Whose link has two rings, which are opened anew."""
    made = started(space, common_folder, "--fanout", 2, "--reopen-links")
    try:
        yield made
    finally:
        end(made)


def test_the_next_reader_has_the_rings_that_were_opened_anew(daemon: Daemon) -> None:
    """They are the supervisor's and the launcher's; no reader's death takes a packet twice."""
    daemon.add("flows", FLOWS, first_window="cut")
    wait_for_all(daemon, sent := send(daemon.space, COUNT))
    remove_and_return(daemon, 2)
    wait_for_all(daemon, sent := sent + send(daemon.space, COUNT, first=sent))
    os.kill(pid := capture_pid(daemon), signal.SIGKILL)
    wait_until_gone(pid)
    sent += send(daemon.space, COUNT, first=sent)
    wait_until(lambda: read_or_lost(daemon) == sent, "that all are read, or told to be lost")
    assert daemon.status().lost_packets == {daemon.space.near: 0}
    remove_and_return(daemon, 2)
    sent += send(daemon.space, COUNT, first=sent)
    wait_until(lambda: read_or_lost(daemon) == sent, "that all are read, or told to be lost")
    wait_until(lambda: len(packet_sockets(daemon.space)) == 2, "those that were removed to close")


def read_or_lost(daemon: Daemon) -> int:
    """Packets, over all capture processes."""
    status = daemon.status()
    return sum(source.read for source in status.sources) + sum(status.lost_packets.values())


def packet_sockets(space: Namespace) -> list[str]:
    return space.run("cat", "/proc/net/packet").splitlines()[1:]


def test_a_reader_that_begins_while_the_link_is_gone_gets_it_too(daemon: Daemon) -> None:
    wait_for_all(daemon, sent := send(daemon.space, COUNT))
    daemon.space.ip("link", "del", daemon.space.near)
    wait_for_state(daemon, "gone", 2)
    os.kill(pid := capture_pid(daemon), signal.SIGKILL)
    wait_until_gone(pid)
    daemon.space.plug()
    wait_until(lambda: "near is back" in daemon.told(), "that it is opened anew")
    wait_for_state(daemon, "up", 2)
    sent += send(daemon.space, COUNT, first=sent)
    wait_until(lambda: read_or_lost(daemon) == sent, "that all are read, or told to be lost")


def test_a_link_that_returns_and_is_down_is_told_and_awaited(daemon: Daemon) -> None:
    daemon.space.ip("link", "del", daemon.space.near)
    wait_for_state(daemon, "gone", 2)
    daemon.space.ip("link", "add", "name", "near", "type", "veth", "peer", "name", "far")
    wait_until(lambda: "near: it is down" in daemon.told(), "that it is told")
    daemon.space.ip("link", "set", "far", "up")
    daemon.space.ip("link", "set", "near", "up")
    wait_for_state(daemon, "up", 2)
    told = [text for text in daemon.status().notices if "near" in text]
    assert len(told) == 2, "once while it was down, and when it was back"


def test_without_the_option_the_loss_is_told_and_what_would_help(
    space: Namespace, common_folder: Path
) -> None:
    """Two links, of which the other goes on."""
    config = common_folder / "gigastream.toml"
    config.write_text("[[link]]\ndevice = 'near'\nfanout = 2\n[[link]]\ndevice = 'far'\n")
    config.chmod(0o644)
    daemon = started(space, common_folder, "-c", config)
    try:
        space.ip("link", "del", "near")
        wait_until(lambda: "reopen-links = true" in daemon.told(), "that it is told")
        (told,) = [text for text in daemon.status().notices if "near" in text]
        assert "the link was removed" in told
        wait_until(
            lambda: [source.link for source in daemon.report().sources[:2]] == ["lost", "lost"],
            "that both rings are lost",
        )
    finally:
        end(daemon)


def test_a_device_of_another_name_is_captured_until_one_has_the_name(daemon: Daemon) -> None:
    """Then that one is, when what the other brought has been read."""
    space = daemon.space
    space.ip("link", "set", "near", "down")
    space.ip("link", "set", "near", "name", "other")
    space.ip("link", "set", "other", "up")
    wait_for_state(daemon, "gone", 2)
    wait_for_all(daemon, sent := send(space, COUNT))
    space.ip("link", "set", "far", "down")
    space.ip("link", "set", "far", "name", "another")
    space.plug()
    wait_for_state(daemon, "up", 2)
    wait_for_all(daemon, sent + send(space, COUNT, first=sent))


def test_a_reload_says_which_links_need_a_restart(space: Namespace, common_folder: Path) -> None:
    config = common_folder / "gigastream.toml"
    config.write_text("[[link]]\ndevice = 'near'\n")
    config.chmod(0o644)
    daemon = started(space, common_folder, "-c", config)
    try:
        config.write_text("[[link]]\ndevice = 'near'\nfanout = 2\n[[link]]\ndevice = 'far'\n")
        told = daemon.ask(ReloadConfig()).message
        assert "far is new, near has another fanout: a restart opens links" in told
        config.write_text("[[link]]\ndevice = 'far'\n")
        assert "far is new, near is gone" in daemon.ask(ReloadConfig()).message
    finally:
        end(daemon)


def test_a_daemon_ends_whose_only_link_is_lost(space: Namespace, common_folder: Path) -> None:
    daemon = started(space, common_folder, "--fanout", 2)
    try:
        space.ip("link", "del", "near")
        assert daemon.process.wait(PATIENCE_S) == 1  # a service manager begins it again
        assert "near: the link was removed" in daemon.told()
        assert "no link is left to be read" in daemon.told()
    finally:
        end(daemon)


def test_without_its_opener_the_capture_goes_on_and_says_so(daemon: Daemon) -> None:
    os.kill(opener_of(daemon), signal.SIGKILL)
    wait_until(
        lambda: any("the opener has ended" in text for text in daemon.status().notices),
        "that it is told",
    )
    wait_for_all(daemon, sent := send(daemon.space, COUNT))
    daemon.space.ip("link", "del", daemon.space.near)
    wait_for_state(daemon, "gone", 2)
    daemon.space.plug()
    wait_for_all(daemon, sent)
    assert daemon.stop() == 0
    told = daemon.told()
    assert "near: the link was removed, and the opener" in told
    assert "signal 9 (SIGKILL)" in told
    assert "Traceback" not in told
