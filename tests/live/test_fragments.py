# SPDX-License-Identifier: Apache-2.0
"""Datagrams put together of a link: past the kernel's filter, by rings that share it."""

from __future__ import annotations

from pathlib import Path

import pytest

from gigastream.engine.statistics import LOST_FRAGMENTS
from tests.answers.mixture import START_NS
from tests.live.namespace import Namespace, needs, running
from tests.live.test_veth import answer_of_file, replay, rows_of
from tests.strategies.files import NANOSECONDS, Packet, pcap
from tests.strategies.fragments import datagram_4, framed, honest, parts_4

pytestmark = [pytest.mark.privileged, needs("tcpreplay")]
SENDERS = 64
QUERY = """
DEFINE { defragment 'yes'; }
SELECT tb, srcIP, destPort, count(*) AS datagrams, sum(len) AS bytes, max(data_length) AS longest
FROM UDP WHERE destPort IN (53, 5353) GROUP BY time/1000000000 AS tb, srcIP, destPort
"""


def capture_of_many(folder: Path) -> Path:
    """Datagrams of many senders, the fragments of all of them in turn."""
    each = [framed(parts_4(datagram_4(7, source=f"10.1.0.{at}"))) for at in range(SENDERS)]
    frames = [frame for turn in zip(*each, strict=True) for frame in turn]
    frames += honest()["of IPv6"]
    path = folder / "many.pcap"
    path.write_bytes(
        pcap([Packet(START_NS + at, frame) for at, frame in enumerate(frames)], magic=NANOSECONDS)
    )
    return path


@pytest.mark.parametrize("rings", [1, 3])
def test_fragments_of_a_datagram_come_to_one_ring(
    space: Namespace, tmp_path: Path, rings: int
) -> None:
    capture = capture_of_many(tmp_path)
    words = ["-i", space.far, "--fanout", rings, "--kernel-prefilter", "on", "-e", QUERY]
    with running(space, *words, folder=tmp_path) as run:
        sent = replay(space, capture, "--topspeed")
        account = run.stop()
        rows = rows_of(run.rows())
    assert rows == answer_of_file(capture, "-e", QUERY)
    assert sum(rows.values()) == SENDERS + 1
    read = [source["read"] for source in account["sources"]]
    assert sum(read) == sent
    assert all(read), "fragments go to every ring"
    assert sum(lfta["fragments"] for lfta in account["lftas"]) == sent
    assert not any(lfta[cause] for lfta in account["lftas"] for cause in LOST_FRAGMENTS)
