# SPDX-License-Identifier: Apache-2.0
"""`-i any`: what no ring can be had of, libpcap captures; the answer is that of tcpdump's."""

from __future__ import annotations

import json
import subprocess
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.captures import ROOT
from tests.live.namespace import (
    PATIENCE_S,
    QUERY_ALL,
    Namespace,
    needs,
    running,
    totals,
    wait_until,
)
from tests.live.test_veth import (
    DEMO_CAPTURE,
    DEMO_PACKETS,
    Tcpdump,
    answer_of_file,
    replay,
    rows_of,
)
from tests.processes import program

pytestmark = [pytest.mark.privileged, needs("tcpreplay", "tcpdump")]
QUERY = """
DEFINE { query_name all; } SELECT tb, count(*) AS n, sum(len) AS bytes, max(len) AS most
FROM PKT GROUP BY time/1000000000 AS tb;
DEFINE { query_name talks; }
SELECT tb, srcIP, destIP, protocol, count(*) AS n
FROM IP GROUP BY time/1000000000 AS tb, srcIP, destIP, protocol
"""


@pytest.mark.long
@pytest.mark.parametrize("words", [[], ["udp", "port", "53"]], ids=["all", "filtered"])
def test_all_devices_at_once(space: Namespace, tmp_path: Path, words: list[str]) -> None:
    """Each packet is there where it leaves one end and where it comes in at the other."""
    tcpdump = Tcpdump(space, tmp_path / "seen.pcap", "-i", "any", "-y", "LINUX_SLL2")
    with running(space, "-i", "any", "-e", QUERY, *words, folder=tmp_path) as run:
        sent = replay(space, DEMO_CAPTURE, "--pps", "4000")
        tcpdump.stop(2 * sent)
        account = run.stop()
        rows = rows_of(run.rows())
    assert rows == answer_of_file(tcpdump.path, "-e", QUERY, *words)
    assert len(rows) > 5
    (source,) = account["sources"]
    assert source["read"] == source["kernel_received"] == 2 * sent
    assert (source["filtered"] > 0) == bool(words)


def test_the_last_window_ends_without_a_packet(space: Namespace, tmp_path: Path) -> None:
    with running(space, "-i", "any", "-e", QUERY_ALL, folder=tmp_path) as run:
        sent = replay(space, DEMO_CAPTURE, "--topspeed")
        wait_until(lambda: totals(run.rows()).get("n") == 2 * sent, "the last window")
        run.stop()


def test_no_privilege_is_left(space: Namespace, tmp_path: Path) -> None:
    with running(space, "-i", "any", "-e", QUERY_ALL, folder=tmp_path) as run:
        status = Path(f"/proc/{run.process.pid}/status")
        wait_until(lambda: "\nUid:\t0" not in status.read_text(), "another user")
        assert f"CapEff:\t{0:016x}" in status.read_text()
        sent = replay(space, DEMO_CAPTURE, "--topspeed")
        run.stop()
        assert totals(run.rows())["n"] == 2 * sent


def test_only_what_comes_in(space: Namespace, tmp_path: Path) -> None:
    words = ["-i", "any", "--outgoing", "off", "-e", QUERY_ALL]
    with running(space, *words, folder=tmp_path) as run:
        sent = replay(space, DEMO_CAPTURE, "--topspeed")
        run.stop()
        assert totals(run.rows())["n"] == sent


def test_beside_a_ring_and_a_file(space: Namespace, tmp_path: Path) -> None:
    query = "SELECT tb, interface, count(*) AS n FROM PKT GROUP BY time/1000000000 AS tb, interface"
    words = ["-i", "any", "-i", space.far, "-r", f"old={DEMO_CAPTURE}", "-e", query]
    with running(space, *words, folder=tmp_path) as run:
        sent = replay(space, DEMO_CAPTURE, "--pps", "4000")
        run.wait_until_read("old", DEMO_PACKETS)
        run.stop()
        counts = Counter[str]()
        for row in run.rows():
            counts[row["interface"]] += row["n"]
    assert counts == {space.near: sent, space.far: 2 * sent, "old": DEMO_PACKETS}


@pytest.mark.parametrize("device", ["any", "far"])
def test_packets_that_are_ahead_of_the_clock_are_carried(space: Namespace, device: str) -> None:
    """Whoever captures them: none is lost, and the step is told."""
    begun = time.monotonic_ns()
    behind = space.start(
        *(*program("tests.live.ahead"), device, -3600),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=ROOT,
    )
    assert behind.stdout is not None
    assert behind.stdout.readline() == "captures\n"
    replay(space, DEMO_CAPTURE, "--topspeed")
    source = json.loads(behind.communicate(timeout=PATIENCE_S)[0])
    assert source["read"] == source["decoded"] == source["carried"] > 0
    assert source["clock_steps"] == 1
    took = time.monotonic_ns() - begun  # what may lie between a packet and a reading of the clock
    assert abs(source["clock_step_ns"] - 3600e9) < took
