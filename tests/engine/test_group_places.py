# SPDX-License-Identifier: Apache-2.0
"""Groups of the high level that begin, meet and make their table grow within one burst of rows.

The low level has one slot, so that nearly every packet is a row above. A row's place is found
before the rows in front of it in its burst have had their turn: it may be taken by then, or be
elsewhere.
"""

from __future__ import annotations

import random
from collections import Counter

import pytest

import gigastream
from gigastream.settings import Settings
from tests.engine.traffic import EPOCH_NS, HOST, SECOND_NS, packet

QUERY = (
    "SELECT tb, destIP, count(*) AS packets, sum(len) AS bytes FROM UDP "
    "WHERE ipversion = 4 GROUP BY time/60 AS tb, destIP"
)
HEADER_BYTES = 42
PACKETS = 6_000


def arrivals(groups: int, seconds: int) -> list[tuple[int, int, int]]:
    """(second, group, payload), in order of time."""
    of = random.Random(groups)
    times = sorted(of.randrange(seconds) for _ in range(PACKETS))
    return [(second, of.randrange(groups), of.randrange(100)) for second in times]


@pytest.mark.parametrize("groups", [1, 2, 5, 40, 64, 65, 700, 5_000])
@pytest.mark.parametrize("seconds", [10, 400])
def test_every_packet_is_counted_once_in_its_group(groups: int, seconds: int) -> None:
    packets, sizes = Counter[tuple[int, int]](), Counter[tuple[int, int]]()
    frames = []
    for second, group, payload in arrivals(groups, seconds):
        time = EPOCH_NS // SECOND_NS + second
        frames.append((float(time), packet(second, other=group, payload=payload).data))
        packets[time // 60, HOST + group] += 1
        sizes[time // 60, HOST + group] += HEADER_BYTES + payload
    rows: list[tuple[int, ...]] = []
    for batch in gigastream.run(QUERY, frames, settings=Settings(slots=1), link_type=1):
        rows += zip(*(column.to_pylist() for column in batch.columns), strict=True)
    assert sorted(rows) == sorted((*key, packets[key], sizes[key]) for key in packets)
