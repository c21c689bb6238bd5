# SPDX-License-Identifier: Apache-2.0
"""FILTER_JOIN: the rows of plain Python, by hash exactly, by Bloom filters none of them missing."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import pytest

from gigastream.engine.statistics import LftaStatistics
from gigastream.plan.describe.filters import added_rate
from gigastream.settings import Settings
from tests.answers.engine import plan_of, run, source
from tests.answers.mixture import START_NS, Mixture, packets_of
from tests.oracle.query import packets
from tests.strategies import frames
from tests.strategies.files import NANOSECONDS, Packet, pcap

FIELDS = ("time", "time_ms", "len", "srcIP", "destIP", "protocol")
QUERY = """
DEFINE {{ query_name rows; {options} }}
SELECT r.time_ms, r.len, r.srcIP FILTER_JOIN({column}, {ticks}) FROM {protocol} r, {protocol} s
WHERE r.srcIP = s.destIP AND r.protocol = s.protocol AND s.len % 3 <> 0 AND r.len % 5 <> 0;
DEFINE {{ query_name groups; {options} }}
SELECT tb, count(*) AS packets, sum(r.len) AS bytes FILTER_JOIN({column}, {ticks})
FROM {protocol} r, {protocol} s
WHERE r.srcIP = s.destIP AND r.protocol = s.protocol AND s.len % 3 <> 0 AND r.len % 5 <> 0
GROUP BY time/60 AS tb
"""


def _let_through(read: Sequence[Any], column: str, ticks: int) -> Iterator[Any]:
    """The packets that one before lets through."""
    seen: dict[Any, list[int]] = {}
    for packet in read:
        time = packet[column]
        before = seen.get((packet["srcIP"], packet["protocol"]), [])
        if packet["len"] % 5 and any(0 <= time - other <= ticks for other in before):
            yield packet
        if packet["len"] % 3:
            seen.setdefault((packet["destIP"], packet["protocol"]), []).append(time)


def _rows(through: Sequence[Any]) -> dict[str, list[list[str]]]:
    groups: dict[int, list[int]] = {}
    for packet in through:
        groups.setdefault(packet["time"] // 60, []).append(packet["len"])
    return {
        "rows": sorted([str(p["time_ms"]), str(p["len"]), str(p["srcIP"])] for p in through),
        "groups": sorted([str(tb), str(len(f)), str(sum(f))] for tb, f in groups.items()),
    }


def _lying(chance: Random, found: Sequence[Packet]) -> list[Packet]:
    """Some times lie ahead, or back, alone or several of them in a row."""
    moved, by = [], 0
    for packet in found:
        if chance.random() < 0.08:
            by = chance.choice([0, 0, 7, 40, 3_000, 10**6, -5, -300]) * 10**9
        elif by and chance.random() < 0.5:
            by = 0
        moved.append(Packet(max(0, packet.timestamp_ns + by), packet.data, packet.length))
    return moved


@dataclass(frozen=True)
class Case:
    """A capture, and what is asked of it."""

    seed: int

    def settings(self) -> Settings:
        chance = Random(self.seed)
        return Settings(
            burst=chance.choice([1, 7, 64, 256]),
            disorder_bytes=chance.choice([300, 5_000, 1 << 24]),
        )

    def capture(self, folder: Path) -> Path:
        chance = Random(self.seed)
        found = packets_of(Mixture(seed=self.seed, packets=500, hosts=6, back_ms=4_000))
        path = folder / "some.pcap"
        path.write_bytes(pcap(_lying(chance, found) if self.seed % 3 else found, magic=NANOSECONDS))
        return path

    def query(self, options: str = "") -> tuple[str, str, int, str]:
        column, ticks = [("time", 0), ("time", 10), ("time_ms", 700), ("time", 100_000)][
            self.seed % 4
        ]
        protocol = ("IP", "IPV4", "DataProtocol")[self.seed % 3]
        text = QUERY.format(column=column, ticks=ticks, protocol=protocol, options=options)
        return text, column, ticks, protocol


def _ran(case: Case, folder: Path, options: str = "") -> tuple[dict[str, Any], dict[str, Any]]:
    """What the engine gave, and what Python does."""
    path, settings = case.capture(folder), case.settings()
    text, column, ticks, protocol = case.query(options)
    read = list(packets(protocol, path, FIELDS, disorder_bytes=settings.disorder_bytes))
    given = run(plan_of(text), [source(path)], settings)
    for lfta in given.statistics.lftas:
        assert lfta.packets == given.statistics.sources[0].decoded
    rows = {
        name: sorted([str(c) for c in row] for row in found) for name, found in given.rows.items()
    }
    return rows, _rows(list(_let_through(read, column, ticks)))


@pytest.mark.parametrize("seed", range(12))
def test_by_hash_rows_are_those_of_plain_python(seed: int, tmp_path: Path) -> None:
    found, expected = _ran(Case(seed), tmp_path)
    assert found == expected


@pytest.mark.parametrize("seed", [1, 2, 6, 11])
@pytest.mark.parametrize("size", ["", "num_bloom 2; bloom_size 512;"])
def test_by_bloom_filters_none_is_missing(seed: int, size: str, tmp_path: Path) -> None:
    found, expected = _ran(Case(seed), tmp_path, f"algorithm 'bloom'; {size}")
    left = list(found["rows"])
    for row in expected["rows"]:
        left.remove(row)


def test_a_packet_does_not_let_itself_through(tmp_path: Path) -> None:
    text = "SELECT r.time FILTER_JOIN(time, 5) FROM IP r, IP s WHERE r.srcIP = s.srcIP"
    path = _flood(tmp_path, [(0, 1), (3, 2), (4, 1), (9, 1), (15, 1)])
    given = run(plan_of(text), [source(path)], Settings())
    assert [int(row[0] or 0) - START_NS // 10**9 for row in given.rows["query"]] == [4, 9]


# Many


def _flood(folder: Path, found: Sequence[tuple[float, int]]) -> Path:
    """Packets of (second, source address)."""
    tcp = frames.tcp(1, 2, b"")
    frame = frames.ethernet(0x0800, frames.ipv4(0, 0x0A000001, 6, tcp))
    at = 14 + 12
    made = [
        Packet(
            START_NS + int(second * 10**9),
            frame[:at] + struct.pack(">I", address) + frame[at + 4 :],
            len(frame),
        )
        for second, address in found
    ]
    path = folder / "flood.pcap"
    path.write_bytes(pcap(made, magic=NANOSECONDS))
    return path


def _through(
    folder: Path, found: Sequence[tuple[float, int]], options: str, **settings: Any
) -> Any:
    text = f"DEFINE {{ {options} }} SELECT r.srcIP FILTER_JOIN(time, 10) FROM IP r, IP s "
    text += "WHERE r.srcIP = s.srcIP"
    given = run(plan_of(text), [source(_flood(folder, found))], Settings(**settings))
    return len(given.rows["query"]), given.statistics.lftas[0]


ONCE = "algorithm 'bloom'; num_bloom 4; bloom_size 131072;"


def test_bloom_filters_add_no_more_than_explain_says(tmp_path: Path) -> None:
    """Every address comes once, so that each packet that passes is one too many."""
    count = 60_000
    found = [(at * 40 / count, 0x0B000000 + at) for at in range(count)]
    passed, _ = _through(tmp_path, found, ONCE, disorder_bytes=20_000, memory_bytes=1 << 26)
    assert 0 < passed <= added_rate() * count


def test_times_ahead_take_no_places_of_bloom_filters(tmp_path: Path) -> None:
    count = 60_000
    lies = [(10.0**6 + at * 10, 0x0C000000 + at) for at in range(8)]
    found = [(at * 40 / count, 0x0B000000 + at) for at in range(count)]
    for at, lie in enumerate(lies):
        found.insert((at + 1) * count // 10, lie)
    passed, _ = _through(tmp_path, found, ONCE, disorder_bytes=20_000, memory_bytes=1 << 26)
    assert passed <= added_rate() * count


def test_by_hash_what_is_dead_makes_room(tmp_path: Path) -> None:
    """More keys than there are places, of which never more than half are alive."""
    found = []
    for turn in range(6):
        keys = [0x0B000000 + turn * 7_000 + at for at in range(7_000)]
        found += [(turn * 22.0, key) for key in keys] + [(turn * 22.0 + 8, key) for key in keys]
    passed, lfta = _through(tmp_path, found, "", disorder_bytes=1_000, memory_bytes=LITTLE)
    assert (passed, lfta.forgotten) == (42_000, 0)


def test_by_hash_the_bound_is_counted(tmp_path: Path) -> None:
    """None is let through that nothing came before, and those that were forgotten are told."""
    count = 30_000
    found = [(at / count, 0x0B000000 + at) for at in range(count)]
    found += [(1 + at / count, 0x0B000000 + at) for at in reversed(range(count))]
    lfta: LftaStatistics
    passed, lfta = _through(tmp_path, found, "", memory_bytes=LITTLE)
    assert 2_000 <= passed < count
    assert lfta.forgotten >= count - passed


LITTLE = 1 << 20
"""Bytes of memory in which 16,384 places fit."""
