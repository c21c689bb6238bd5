# SPDX-License-Identifier: Apache-2.0
"""What crashes take is told to the packet: reports and losses together are what was sent."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gigastream.daemon.messages import StatusAnswer
from gigastream.engine.statistics import SourceStatistics
from tests.daemon.resident import Daemon, end, started
from tests.live.namespace import Namespace, wait_for_delivery
from tests.processes import program
from tests.waiting import PATIENCE_S, wait_until

KILLS = 4
MOST_S = 1.5
"""Between a process that reads and its end: reports come once a second."""
SMALL = ("--ring", "256kiB")
pytestmark = [pytest.mark.privileged, pytest.mark.long]


@pytest.mark.parametrize("more", [(), ("--fanout", 2), SMALL], ids=["one", "fanout", "full"])
def test_every_packet_is_told_of_or_told_to_be_lost(
    space: Namespace, common_folder: Path, more: tuple[object, ...]
) -> None:
    """Killed at random moments, with one ring, with two, and with one that is too small."""
    daemon, rng = started(space, common_folder, *more), random.Random(len(more))
    try:
        daemon.add("counts", first_window="cut")
        with sending(space) as sender:
            for _ in range(KILLS):
                before = accounted(kill(daemon, rng))
                wait_until(lambda: reads_again(daemon), "the next process, and its first report")
                assert accounted(daemon.status()) >= before
        sent = int(sender.communicate()[0])
        wait_for_delivery()
        wait_until(lambda: accounted(daemon.status()) >= sent, "the last of them")
        found = daemon.status()
        assert accounted(found) == sent
        assert sum(found.lost_packets.values()) == sum(
            count for loss in found.losses for count in loss.packets.values()
        )
        assert len(found.losses) == found.restarts == KILLS
        assert all(adds_up(source) for source in found.sources)
        assert daemon.stop() == 0
    finally:
        end(daemon)


@contextmanager
def sending(space: Namespace) -> Iterator[subprocess.Popen[str]]:
    """Packets all the while; how many is on its stdout afterwards."""
    sender = space.start(*program("tests.daemon.steady"), space.far, stdout=subprocess.PIPE)
    assert sender.stdout is not None
    assert sender.stdout.readline() == "sends\n"
    try:
        yield sender
    finally:
        sender.send_signal(signal.SIGTERM)
        sender.wait(PATIENCE_S)


def kill(daemon: Daemon, rng: random.Random) -> StatusAnswer:
    """At any moment; the status before."""
    time.sleep(rng.random() * MOST_S)
    found = daemon.status()
    assert found.capture_pid is not None
    os.kill(found.capture_pid, signal.SIGKILL)
    wait_until(lambda: daemon.status().restarts > found.restarts, "the end of it")
    return found


def reads_again(daemon: Daemon) -> bool:
    """Whether the process of now has reported."""
    found = daemon.status()
    return found.report is not None and found.report.incarnation == found.incarnation


def accounted(status: StatusAnswer) -> int:
    """Packets that reports tell of, or that are told to be lost."""
    told = sum(source.read + source.kernel_dropped for source in status.sources)
    return told + sum(status.lost_packets.values())


def adds_up(source: SourceStatistics) -> bool:
    """Whether each packet that was received is in one of the terms."""
    terms = source.undecodable + source.filtered + source.late + source.skew + source.sampled_out
    received = source.kernel_dropped + terms + source.decoded
    return source.kernel_received == received + source.unread
