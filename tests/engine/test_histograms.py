# SPDX-License-Identifier: Apache-2.0
"""Histograms of more values than a text has: the most frequent first, then by their texts."""

from __future__ import annotations

from pathlib import Path

import pytest

from gigastream.settings import Settings
from tests.answers.engine import plan_of, run, source
from tests.engine.traffic import EPOCH_NS, udp_packet
from tests.strategies.files import NANOSECONDS, pcap

LIST_BYTES = 4096
PACKETS = 5000


def shown(counts: dict[int, int]) -> str:
    """The text: each value costs itself and a separator, as many as there is room for."""
    values = sorted(counts, key=lambda value: (-counts[value], str(value)))
    parts, taken = [], 0
    for value in values:
        part = f"{value}={counts[value]}"
        taken += len(part) + 2
        if taken > LIST_BYTES:
            break
        parts.append(part)
    beyond = len(values) - len(parts)
    return ", ".join(parts) + (f", … {beyond} more" if beyond else "")


@pytest.mark.parametrize("values", [40, 2048, 2600, PACKETS])
def test_it_has_the_first(tmp_path: Path, values: int) -> None:
    path = tmp_path / "many.pcap"
    packets = [udp_packet(EPOCH_NS + at, at, at + 1) for at in range(PACKETS)]
    path.write_bytes(pcap(packets, magic=NANOSECONDS))
    query = (
        f"SELECT tb, histogram(packet_id * 7919 % {values}) AS h FROM UDP GROUP BY time/60 AS tb"
    )
    ((_, text),) = run(plan_of(query), [source(path)], Settings()).rows["query"]
    counts: dict[int, int] = {}
    for at in range(PACKETS):
        value = at * 7919 % values
        counts[value] = counts.get(value, 0) + 1
    assert text == shown(counts)
