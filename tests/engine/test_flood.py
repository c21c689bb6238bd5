# SPDX-License-Identifier: Apache-2.0
"""A flood of forged addresses: the low level does not grow, the high level meets its limit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from gigastream.sessions.session import Session
from gigastream.settings import Settings
from gigastream.sources.files import FileSource
from tests.engine.accounts import adds_up
from tests.engine.stepping import plan_of
from tests.engine.traffic import packet
from tests.own_memory import own_memory
from tests.sanitizers import not_sanitized
from tests.strategies.files import NANOSECONDS, pcap, pcap_record

PACKETS = 300_000
SECONDS = 50
SCATTER = 0x9E3779B1
"""Odd, so that its multiples modulo 2^32 are all different."""
QUERY = """DEFINE { query_name q; }
    SELECT tb, srcIP, destIP, count(*) AS packets FROM IPV4 GROUP BY time/60 AS tb, srcIP, destIP"""
PLAN = plan_of(QUERY)
MIB = 1 << 20


def flood() -> Iterator[bytes]:
    """A capture, part by part, in which no source address comes twice; all in one minute."""
    yield pcap([], magic=NANOSECONDS)
    for second in range(SECONDS):
        record = pcap_record(packet(100 + second), magic=NANOSECONDS)
        head, tail = record[: 16 + 26], record[16 + 30 :]
        of_it = range(second * PACKETS // SECONDS, (second + 1) * PACKETS // SECONDS)
        addresses = ((at * SCATTER & 0xFFFF_FFFF).to_bytes(4, "big") for at in of_it)
        yield b"".join(head + address + tail for address in addresses)


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("flood") / "flood.pcap"
    with path.open("wb") as file:
        file.writelines(flood())
    return path


@dataclass
class Flood:
    """What a flood did."""

    memory: list[int] = field(default_factory=list)
    """Bytes, at each heartbeat."""
    held: list[int] = field(default_factory=list)
    """Groups of the high level, at each heartbeat."""
    rows: int = 0
    partial_rows: int = 0
    groups_refused: int = 0
    evicted: int = 0


def run(capture: Path, max_groups: int) -> Flood:
    settings = Settings(
        max_groups=max_groups, slots=4096, heartbeat_packets=10_000, output_punctuation=True
    )
    found = Flood()
    with Session(PLAN, [FileSource("default", str(capture))], settings) as session:
        for event in session.batches():
            found.rows += event.batch.row_count
            found.partial_rows += event.batch.row_count * event.batch.is_partial
            if event.batch.is_heartbeat:
                found.memory.append(own_memory())
                found.held.append(session.statistics().operators[0].held)
        statistics = session.statistics()
    adds_up(statistics)
    found.groups_refused = statistics.operators[0].groups_refused
    found.evicted = statistics.lftas[0].evicted
    return found


@not_sanitized("what is freed is kept by AddressSanitizer, to see who touches it")
def test_the_low_level_does_not_grow(capture: Path) -> None:
    found = run(capture, max_groups=1)
    assert len(found.memory) >= PACKETS // 10_000
    assert found.evicted > PACKETS * 0.95, "a table of 4096 slots"
    assert max(found.memory) - found.memory[1] < MIB
    assert (found.rows, found.groups_refused) == (1, PACKETS - 1)


@not_sanitized("what is freed is kept by AddressSanitizer, to see who touches it")
def test_the_high_level_meets_its_limit(capture: Path) -> None:
    limit = 20_000
    found = run(capture, max_groups=limit)
    assert max(found.held) == limit
    at_limit = found.held.index(limit)
    assert max(found.memory) - found.memory[at_limit] < MIB, "no growth beyond the limit"
    assert max(found.memory) - found.memory[1] < 8 * MIB
    assert (found.rows, found.groups_refused) == (limit, PACKETS - limit)
    assert found.partial_rows == limit, "every row of the window is marked"


def test_every_group_has_its_row_where_there_is_room(capture: Path) -> None:
    found = run(capture, max_groups=PACKETS)
    assert (found.rows, found.groups_refused, found.partial_rows) == (PACKETS, 0, 0)
