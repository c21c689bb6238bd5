# SPDX-License-Identifier: Apache-2.0
"""Files of one interface that overlap: what is put together is as of one file, whatever bursts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random

import pytest

from gigastream.engine.statistics import OF_FRAGMENTS, OF_SEGMENTS
from gigastream.settings import Settings
from tests.answers.engine import plan_of, run, source
from tests.answers.mixture import START_NS
from tests.strategies import fragments, segments
from tests.strategies.files import NANOSECONDS, Packet, pcap, pcapng

DATAGRAMS = """DEFINE { defragment 'yes'; }
SELECT timestamp, srcPort, destPort, data_length, UDP_data FROM UDP"""
SEGMENTS = "DEFINE { tcp_order 'yes'; } SELECT timestamp, sequence_number, TCP_data FROM TCP"
KINDS = ((DATAGRAMS, fragments.everything), (SEGMENTS, segments.everything))
BURSTS = (1, 3, 64, 256)
Answer = tuple[list[list[str | None]], dict[str, int]]
Traffic = Callable[[int, int], list[Packet]]


def _answered(files: Sequence[Path], query: str, burst: int) -> Answer:
    given = run(plan_of(query), [source(path) for path in files], Settings(burst=burst))
    (lfta,) = given.statistics.lftas
    counters = (*OF_FRAGMENTS, *OF_SEGMENTS, "decoded", "accepted")
    return given.rows["query"], {name: getattr(lfta, name) for name in counters}


def _split(folder: Path, packets: Sequence[Packet], seed: int) -> list[Path]:
    """Three files, packet by packet or in runs, each in the order that it had."""
    random, now = Random(seed), 0
    parts: list[list[Packet]] = [[], [], []]
    for packet in packets:
        if random.random() < (0.02 if seed % 2 else 1):
            now = random.randrange(3)
        parts[now].append(packet)
    paths = [folder / f"{number}.pcap" for number in range(3)]
    for path, part in zip(paths, parts, strict=True):
        path.write_bytes(pcap(part, magic=NANOSECONDS))
    return paths


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("query", "traffic"), KINDS)
def test_bursts_do_not_matter(tmp_path: Path, query: str, traffic: Traffic, seed: int) -> None:
    """Of timestamps that go back and lie, too, and that are those of others."""
    packets = [
        Packet(each.timestamp_ns // 10**8 * 10**8, each.data) for each in traffic(seed, START_NS)
    ]
    files = _split(tmp_path, packets, seed)
    first, *others = (_answered(files, query, burst) for burst in BURSTS)
    assert first[1]["decoded"] == len(packets)
    assert all(each == first for each in others)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(("query", "traffic"), KINDS)
def test_they_are_as_one_file(tmp_path: Path, query: str, traffic: Traffic, seed: int) -> None:
    """A second of the traffic is some 20 of the packets: what waits must wait for all files."""
    data = [each.data for each in traffic(seed, START_NS)]
    packets = [Packet(START_NS + at * 47 * 10**6, each) for at, each in enumerate(data)]
    one = tmp_path / "one.pcap"
    one.write_bytes(pcap(packets, magic=NANOSECONDS))
    expected = _answered([one], query, 64)
    assert expected[0]
    assert _answered(_split(tmp_path, packets, seed), query, 64) == expected


def test_a_packet_without_a_time_keeps_nobody_waiting(tmp_path: Path) -> None:
    """It comes where the one before it does."""
    good = [Packet(START_NS + at, each.data) for at, each in enumerate(fragments.everything(1, 0))]
    timeless = Packet(1 << 63, good[0].data)
    for number in range(2):
        path = tmp_path / f"{number}.pcapng"
        path.write_bytes(pcapng([timeless, *good[number::2], timeless]))
    files = [tmp_path / "0.pcapng", tmp_path / "1.pcapng"]
    first, other = (_answered(files, DATAGRAMS, burst) for burst in (1, 256))
    assert first == other
    assert first[1]["decoded"] == len(good)
