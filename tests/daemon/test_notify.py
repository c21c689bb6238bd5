# SPDX-License-Identifier: Apache-2.0
"""sd_notify, with a socket that plays systemd."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from gigastream.daemon.notify import Notifier


@pytest.fixture
def systemd(tmp_path: Path) -> Iterator[socket.socket]:
    """Who is told."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as made:
        made.bind(str(tmp_path / "notify"))
        made.settimeout(10)
        yield made


def told(systemd: socket.socket) -> list[str]:
    """The next datagram's lines."""
    return systemd.recv(4096).decode().splitlines()


def test_what_systemd_is_told(systemd: socket.socket) -> None:
    """Ready, alive, reloading, stopping, and a line for a person, of which newlines are none."""
    found = Notifier({"NOTIFY_SOCKET": systemd.getsockname(), "WATCHDOG_USEC": "4000000"})
    assert found.watchdog_s == 4.0
    found.ready("running: eth0")
    assert told(systemd) == ["READY=1", "STATUS=running: eth0", f"MAINPID={os.getpid()}"]
    found.alive()
    assert told(systemd) == ["WATCHDOG=1"]
    found.reloading()
    assert told(systemd)[0] == "RELOADING=1"
    found.ready("two\nlines")
    assert told(systemd)[1] == "STATUS=two lines"
    found.stopping()
    assert told(systemd) == ["STOPPING=1"]


def test_an_abstract_address() -> None:
    """With @ in the place of the NUL, as systemd writes it."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind(f"\0gigastream-test-{os.getpid()}")
        systemd.settimeout(10)
        Notifier({"NOTIFY_SOCKET": f"@gigastream-test-{os.getpid()}"}).alive()
        assert told(systemd) == ["WATCHDOG=1"]


def test_nobody_listens(tmp_path: Path) -> None:
    """Nothing is said, and nothing ends; another's watchdog is not ours."""
    for environment in ({}, {"NOTIFY_SOCKET": str(tmp_path / "absent")}, {"NOTIFY_SOCKET": "x"}):
        Notifier(environment).ready("running")
    assert Notifier({"WATCHDOG_USEC": "1000", "WATCHDOG_PID": "1"}).watchdog_s is None
