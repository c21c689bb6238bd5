# SPDX-License-Identifier: Apache-2.0
"""Links that are removed and come back, whose rings are opened anew by who may."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from tests.daemon.links import (
    FLOWS,
    NUMBERS,
    capture_pid,
    check_all,
    check_sources,
    rows_of,
    send,
    sums,
    totals,
    wait_for_all,
)
from tests.daemon.resident import Daemon, end, started
from tests.live.namespace import Namespace
from tests.processes import descendants, threads_of, wait_until_gone
from tests.waiting import wait_until

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
