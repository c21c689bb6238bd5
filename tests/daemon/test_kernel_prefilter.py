# SPDX-License-Identifier: Apache-2.0
"""A daemon whose kernel rejects what no set can accept: sets come and go all the same."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from gigastream.daemon.messages import CaptureReport, DropSet
from tests.daemon.resident import COUNTS, Daemon, end, started
from tests.live.namespace import Namespace, needs
from tests.waiting import wait_until

pytestmark = [pytest.mark.privileged, needs("tcpreplay")]
PORT = (
    "DEFINE { query_name port; } SELECT time AS tb, srcIP, destIP, len FROM TCP "
    "WHERE destPort = 8080 OR srcPort = 8080"
)
PACKETS = 2010
SETTLED_NS = 500_000_000
OF_PORT = 46


@pytest.fixture
def narrow(space: Namespace, common_folder: Path) -> Iterator[Daemon]:
    """A daemon with --kernel-prefilter, without any set."""
    made = started(space, common_folder, "--kernel-prefilter", "on")
    try:
        yield made
    finally:
        end(made)


def settled(daemon: Daemon) -> int:
    """Packets, when reports of some time after now agree: the ring's blocks are handed over."""
    first = later_report(daemon)
    while (second := later_report(daemon)).sources[0].read != first.sources[0].read:
        first = second
    return daemon.read()


def later_report(daemon: Daemon) -> CaptureReport:
    then_ns = time.time_ns() + SETTLED_NS
    wait_until(lambda: daemon.report().at_ns > then_ns, "a later report")
    return daemon.report()


@pytest.mark.long
def test_sets_come_and_go(narrow: Daemon) -> None:
    """The narrow set's rows are whole; a wide one that comes gets all; when it goes few pass."""
    narrow.add("port", PORT)
    narrow.send(PACKETS)
    wait_until(lambda: len(narrow.rows("port")) >= 1, "rows")
    narrow.add("counts", COUNTS, first_window="cut")
    few = settled(narrow)
    assert 0 < few < PACKETS
    narrow.send(PACKETS)
    wait_until(lambda: narrow.read() >= few + PACKETS, "all packets")
    assert settled(narrow) == few + PACKETS
    narrow.ask(DropSet(name="counts"))
    narrow.send(PACKETS)
    wait_until(lambda: narrow.read() > few + PACKETS, "packets")
    assert narrow.stop() == 0
    assert len(narrow.rows("port")) == 3 * OF_PORT
    assert sum(int(row.split(",")[1]) for row in narrow.rows("counts")) == PACKETS
