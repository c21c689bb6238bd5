# SPDX-License-Identifier: Apache-2.0
"""A capture process that is killed at any moment: nothing comes twice, and what is lost is told."""

from __future__ import annotations

import os
import random
import signal
import time
from collections import Counter
from contextlib import suppress

import pytest

from tests.daemon.links import (
    EACH,
    FLOWS,
    NUMBERS,
    capture_pid,
    check_whole,
    rows_of,
    sending,
)
from tests.daemon.resident import Daemon
from tests.waiting import wait_until

pytestmark = [pytest.mark.privileged, pytest.mark.long]
SEED = 12
IN_HAND = 5_000
"""Packets of a second: their rows may be on their way to the file when it is killed."""
LONGEST_S = 2.0
"""Before a kill: what a window takes, and a report; much less than either happens, too."""


class Heard:
    """What the reports have promised so far: packet time by interface, and by query."""

    def __init__(self) -> None:
        self._most: Counter[str] = Counter()

    def look(self, daemon: Daemon) -> None:
        """None goes behind what it was."""
        report = daemon.status().report
        if report is None:
            return
        found = dict(report.promises)
        for running in report.sets:
            found |= {f"{running.name}/{query}": at for query, at in running.newest_ns.items()}
        for name, at in found.items():
            assert at >= self._most[name], f"{name} went back"
            self._most[name] = at


def kill_in_a_moment(daemon: Daemon, chance: random.Random, heard: Heard) -> None:
    """Of a process that may not have begun to read; then wait until it is known to be gone."""
    restarts, pid = daemon.status().restarts, capture_pid(daemon)
    until = time.monotonic() + chance.random() * LONGEST_S
    while time.monotonic() < until:
        heard.look(daemon)
        time.sleep(0.01)
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    wait_until(lambda: daemon.status().restarts > restarts, "the end of it")


def received(daemon: Daemon) -> int:
    """By all processes so far, as the one of now knows."""
    report = daemon.status().report
    sources = () if report is None else report.sources
    return sum(s.taken_before + s.dropped_before + s.kernel_received for s in sources)


@pytest.mark.parametrize("times", [5, pytest.param(100, marks=pytest.mark.slow)])
def test_nothing_comes_twice_where_it_is_killed(daemon: Daemon, times: int) -> None:
    """Windows are whole and come once, single packets too; each crash is told with its time."""
    for name, text in {"numbers": NUMBERS, "flows": FLOWS, "each": EACH}.items():
        daemon.add(name, text)
    chance, heard = random.Random(SEED), Heard()
    with sending(daemon.space, rate=5_000) as sender:
        for _ in range(times):
            kill_in_a_moment(daemon, chance, heard)
        rows = len(daemon.rows("numbers"))
        wait_until(lambda: len(daemon.rows("numbers")) > rows, "a window of the last one")
    wait_until(lambda: received(daemon) == sender.sent, "all packets, by one reader or another")
    status = daemon.status()
    assert (status.restarts, list(status.sets)) == (times, ["numbers", "flows", "each"])
    assert [loss.incarnation for loss in status.losses] == list(range(times))[-100:]
    assert all(loss.away_ns > 0 and "SIGKILL" in loss.reason for loss in status.losses)
    assert daemon.stop() == 0
    check_whole(rows_of(daemon, "numbers"))
    numbers = Counter(row["sequence_number"] for row in rows_of(daemon, "each"))
    assert max(numbers.values()) == 1, "a packet that came twice"
    assert max(numbers) < sender.sent
    groups = [tuple(row.split(",")[:2]) for row in daemon.rows("flows")]
    assert len(groups) == len(set(groups)), "a group of a window that came twice"
    lost = sum(loss.packets.get("near", 0) for loss in status.losses)
    assert len(numbers) >= sender.sent - lost - IN_HAND * times
    print(
        f"\n{times} crashes: of {sender.sent:,} packets {lost:,} told as lost, "
        f"{sender.sent - len(numbers):,} not in the rows"
    )
