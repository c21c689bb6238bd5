# SPDX-License-Identifier: Apache-2.0
"""A ring's packets that become bare frames: the answer and the account of those that do not."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from gigastream.settings import Settings
from tests.engine.stepping import plan_of
from tests.live.mock_link import BUDGET, MS_NS, SECOND_NS, START_NS, Frame, MockLink, MockSession
from tests.strategies import frames as f

GROUPS = "SELECT tb, srcIP, count(*) AS n, sum(len) AS b FROM IPV4 GROUP BY time AS tb, srcIP"
QUERIES = {
    "groups": GROUPS,
    "rows": "SELECT timestamp, caplen, len, vlan, destPort FROM UDP WHERE destPort < 40",
    "packets": "SELECT tb, count(*) AS n, sum(caplen) AS c FROM PKT GROUP BY time AS tb",
    "tags": "SELECT tb, vlan, count(*) AS n FROM ETH GROUP BY time AS tb, vlan",
}
SETTINGS = Settings(hash_key=(1, 2), slots=64)
KINDS: dict[str, dict[str, float]] = {
    "plain": {},
    "tags": {"tags": 0.1},
    "all tags": {"tags": 1.0},
    "late": {"behind": 0.02},
    "lies": {"ahead": 0.01, "behind": 0.01},
    "cut": {"cut": 0.3},
    "all": {"tags": 0.02, "behind": 0.01, "ahead": 0.005, "cut": 0.1},
}


def _frame(rng: random.Random, timestamp_ns: int, odd: dict[str, float]) -> Frame:
    udp = f.udp(1000, rng.randrange(80), bytes(rng.randrange(40)))
    data = f.ethernet(0x0800, f.ipv4(rng.randrange(50), 1, 17, udp))
    if rng.random() < odd.get("behind", 0):
        timestamp_ns -= rng.randrange(4 * SECOND_NS)
    if rng.random() < odd.get("ahead", 0):
        timestamp_ns += rng.randrange(60 * SECOND_NS)
    tag = (0x8100, rng.randrange(5)) if rng.random() < odd.get("tags", 0) else None
    captured = data[: rng.randrange(14, len(data))] if rng.random() < odd.get("cut", 0) else data
    return Frame(timestamp_ns, captured, len(data), tag)


def _answer(query: str, odd: dict[str, float], settings: Settings) -> Sequence[Any]:
    """Of a link that is read now and then, while the clock goes on and is silent for some time."""
    rng, link, found = random.Random(len(query)), MockLink(1 << 16, 8), []
    with MockSession(plan_of(query, ["link"]), [link.source()], settings) as session:
        for step in range(40):
            now_ns = step * 150 * MS_NS
            session.set_clock(now_ns)
            if step % 10 < 8:
                count = rng.choice([1, 40, 300])
                for at in range(count):
                    link.receive(_frame(rng, START_NS + now_ns + at * 10_000 - 2 * MS_NS, odd))
            link.retire()
            found += session.outs()
        session.finish()
        found += session.outs()
        statistics = session.statistics()
    lftas = [replace(lfta, held_bytes=0, peak_bytes=0) for lfta in statistics.lftas]
    return found, statistics.sources, lftas


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("query", QUERIES)
def test_the_answer_and_the_account_are_the_same(query: str, kind: str) -> None:
    settings = replace(SETTINGS, heartbeat_ns=SECOND_NS)
    fast = _answer(QUERIES[query], KINDS[kind], settings)
    ahead = _answer(QUERIES[query], KINDS[kind], replace(settings, fast_path=False))
    assert fast == ahead
    assert fast[1][0].read > 1000


def test_no_more_is_taken_of_a_block_than_is_looked_at() -> None:
    """What is written in the block is lost with a reader that is killed."""
    rng, link = random.Random(1), MockLink(1 << 20, 2)
    block = link.open_block(12)
    link.receive(*(_frame(rng, START_NS + at, {}) for at in range(2000)))
    link.retire()
    with MockSession(plan_of(GROUPS, ["link"]), [link.source()], SETTINGS) as session:
        session.set_clock(0)
        session.read(512)
        status = int.from_bytes(block[8:12], "little")
        assert (status >> 8, session.source().read) == (512, 512)
        session.read(70)
        status = int.from_bytes(block[8:12], "little")
        assert (status >> 8, session.source().read) == (582, 582)
        session.read(BUDGET)
        assert session.source().read == 2000
