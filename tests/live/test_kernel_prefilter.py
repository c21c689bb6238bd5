# SPDX-License-Identifier: Apache-2.0
"""--kernel-prefilter: the same rows, of fewer packets."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.live.namespace import Namespace, needs, running
from tests.live.test_veth import DEMO_CAPTURE, DEMO_PACKETS, answer_of_file, replay, rows_of

pytestmark = [pytest.mark.privileged, needs("tcpreplay")]
TCP_PORT = """
SELECT tb, srcIP, destIP, count(*) AS n, sum(len) AS bytes FROM TCP
WHERE destPort = 8080 GROUP BY time/1000000000 AS tb, srcIP, destIP
"""
TWO = (
    TCP_PORT
    + """;
DEFINE { query_name names; }
SELECT tb, srcIP, count(*) AS n FROM UDP WHERE srcPort = 53 OR destPort = 53
GROUP BY time/1000000000 AS tb, srcIP
"""
)
ALL = "SELECT tb, count(*) AS n FROM PKT GROUP BY time/1000000000 AS tb"


def test_rows_are_the_same_and_packets_are_fewer(space: Namespace, tmp_path: Path) -> None:
    """Frames with a tag, which are half of the demo's, all pass."""
    words = ["-i", space.far, "--kernel-prefilter", "on", "-e", TWO]
    with running(space, *words, folder=tmp_path) as run:
        replay(space, DEMO_CAPTURE, "--topspeed")
        account = run.stop()
        rows = rows_of(run.rows())
    assert rows == answer_of_file(DEMO_CAPTURE, "-e", TWO)
    assert len(rows) > 3
    (source,) = account["sources"]
    assert 0 < source["read"] < 0.8 * DEMO_PACKETS


def test_with_a_filter_of_ones_own(space: Namespace, tmp_path: Path) -> None:
    words = ["-e", TWO, "udp"]
    options = ["-i", space.far, "--kernel-prefilter", "on"]
    with running(space, *options, *words, folder=tmp_path) as run:
        replay(space, DEMO_CAPTURE, "--topspeed")
        account = run.stop()
        rows = rows_of(run.rows())
    assert rows == answer_of_file(DEMO_CAPTURE, *words)
    assert account["sources"][0]["read"] < DEMO_PACKETS


def test_a_query_of_all_packets_gets_them(space: Namespace, tmp_path: Path) -> None:
    words = ["-i", space.far, "--kernel-prefilter", "on", "-e", ALL]
    with running(space, *words, folder=tmp_path) as run:
        replay(space, DEMO_CAPTURE, "--topspeed")
        account = run.stop()
    assert account["sources"][0]["read"] == DEMO_PACKETS


@pytest.mark.parametrize("fanout", [1, 2])
def test_windows_end_though_nothing_passes(space: Namespace, tmp_path: Path, fanout: int) -> None:
    """Time is the clock's: a window that is open ends, whatever the kernel rejects."""
    words = ["-i", space.far, "--kernel-prefilter", "on", "--fanout", fanout, "-e", TCP_PORT]
    with running(space, *words, folder=tmp_path) as run:
        replay(space, DEMO_CAPTURE, "--topspeed")
        account = run.stop()
        rows = rows_of(run.rows())
    assert sum(rows.values()) >= 1
    assert sum(source["read"] for source in account["sources"]) < DEMO_PACKETS
