# SPDX-License-Identifier: Apache-2.0
"""A wall clock that steps and glitches under a link (OPERATORS section 2, Ring): nothing is lost.

After every tick the engine's time, counters and timestamps are the model's.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from gigastream.engine._native import ffi, lib
from gigastream.settings import Settings
from tests.engine.stepping import bound, plan_of
from tests.live.mock_link import MS_NS, SECOND_NS, START_NS, MockLink, MockSession, frame
from tests.models.ring_time import RingTime

EACH = "SELECT timestamp, packet_id FROM PKT"
COUNTS = "SELECT tb, count(*) AS n FROM PKT GROUP BY time AS tb"
MAX_SKEW_NS, SLACK_NS = 2 * SECOND_NS, 10 * MS_NS
TICK_NS = 100 * MS_NS
SETTINGS = Settings(hash_key=(1, 2))
EPOCH, MICROSECOND = datetime(1970, 1, 1, tzinfo=UTC), timedelta(microseconds=1)
HOUR, MINUTE = 3600.0, 60.0

STEPS: dict[str, list[tuple[float, float]]] = {
    "never": [],
    "an hour ahead for a second": [(5.05, HOUR), (6.05, -HOUR)],
    "an hour ahead for longer than max_skew": [(5.05, HOUR), (9.05, -HOUR)],
    "an hour ahead, and it stays": [(5.05, HOUR)],
    "a second ahead for a second": [(5.05, 1), (6.05, -1)],
    "a second ahead, and it stays": [(5.05, 1)],
    "a second ahead for longer than max_skew": [(5.05, 1), (9.05, -1)],
    "a minute back, and it stays": [(5.05, -MINUTE)],
    "a minute back for a second": [(5.05, -MINUTE), (6.05, MINUTE)],
    "a minute back for longer than max_skew": [(5.05, -MINUTE), (9.05, MINUTE)],
    "a second back, and it stays": [(5.05, -1)],
    "less than the slack back": [(5.05, -0.009)],
    "ahead, twice": [(4.05, HOUR), (5.05, -HOUR), (6.05, HOUR), (7.05, -HOUR)],
    "ahead in two steps": [(4.05, 1.5), (5.05, 1.5), (6.05, -3)],
    "back, twice": [(4.05, -3), (6.05, -3)],
    "back and ahead": [(4.05, -5), (6.05, HOUR), (7.05, 5 - HOUR)],
    "ahead at a window's edge": [(5.0, 1.9), (6.0, -1.9)],
    "back at a window's edge": [(6.0, -1)],
    "ahead for less than a tick": [(5.01, HOUR), (5.07, -HOUR)],
    "exactly max_skew ahead": [(5.05, 2), (6.05, -2)],
    "at once": [(0.05, HOUR), (0.15, -HOUR)],
}


@dataclass
class WallClock:
    """What it says, and since when it says so by how much."""

    steps: Sequence[tuple[float, float]]

    def at(self, monotonic: int) -> int:
        passed = monotonic / SECOND_NS
        offset = sum(size for since, size in self.steps if since <= passed)
        return START_NS + monotonic + round(offset * SECOND_NS)


@dataclass
class Expected:
    """A link's model, and what it counted."""

    model: RingTime = field(default_factory=lambda: RingTime(MAX_SKEW_NS, SLACK_NS))
    counts: Counter[str] = field(default_factory=Counter)
    timer_at: int = 0

    def tick(self, now: int, wall: int, stamps: Sequence[int]) -> list[int]:
        """The timer, where it is due, then what was retired; the timestamps that enter."""
        if now >= self.timer_at:
            self.timer_at = now + SECOND_NS
            self.model.heartbeat(now, wall, bool(stamps))
        if not stamps:
            return []
        packets = self.model.burst(now, wall, stamps)
        for packet in packets:
            self.counts[packet.verdict] += 1
            self.counts["carried"] += packet.carried and packet.verdict == "timely"
        return [packet.timestamp for packet in packets if packet.verdict == "timely"]


def timestamps(session: MockSession) -> list[int]:
    """Of the packets that have entered; all are whole microseconds."""
    since = ((found - EPOCH) // MICROSECOND for found, _ in session.rows())
    return [microseconds * 1000 for microseconds in since]


def native_statistics(session: MockSession, index: int) -> Any:
    found = ffi.new("struct gs_source_statistics *")
    lib.gs_engine_source_statistics(session._engine.native, index, found)
    return found


def check_link(session: MockSession, index: int, expected: Expected) -> None:
    """The engine's H, W, counters and steps are the model's."""
    seen, model, counts = native_statistics(session, index), expected.model, expected.counts
    assert bound(seen.high_timestamp_ns) == model.high
    assert bound(seen.promise_ns) == model.promise
    assert (seen.late, seen.skew) == (counts["late"], counts["skew"])
    assert (seen.decoded, seen.carried) == (counts["timely"], counts["carried"])
    assert seen.clock_steps == len(model.steps)
    assert not model.steps or seen.clock_step_ns == model.steps[-1]


def stamps_in(wall: WallClock, begin: int, end: int, every: int) -> list[int]:
    return [wall.at(at) for at in range(begin, end, every)]


def run(
    wall: WallClock, *, seconds: int = 14, every: int = 20 * MS_NS, stall: range = range(0)
) -> tuple[Expected, int]:
    """A link through so many seconds; its model, and how many packets were sent.

    In the seconds of `stall` nobody reads.
    """
    link, expected, sent, read_at = MockLink(block_count=16), Expected(), 0, 0
    with MockSession(plan_of(EACH, ["link"]), [link.source()], SETTINGS) as session:
        for now in range(0, seconds * SECOND_NS, TICK_NS):
            if now // SECOND_NS in stall:
                continue
            stamps, read_at = stamps_in(wall, read_at, now, every), now
            sent += len(stamps)
            assert link.receive(*map(frame, stamps)) == len(stamps)
            link.retire()
            session.set_clock(now, wall.at(now))
            entered = expected.tick(now, wall.at(now), stamps)
            assert timestamps(session) == entered
            check_link(session, 0, expected)
        session.end()
    return expected, sent


@pytest.mark.parametrize("name", STEPS)
def test_the_link_is_the_models_and_nothing_is_lost(name: str) -> None:
    expected, sent = run(WallClock(STEPS[name]))
    assert expected.counts["timely"] == sent
    assert (expected.counts["late"], expected.counts["skew"]) == (0, 0)
    is_harmless = name in ("never", "less than the slack back", "a second ahead, and it stays")
    assert (expected.counts["carried"] == 0) == is_harmless


@pytest.mark.parametrize("name", STEPS)
def test_nothing_is_lost_that_is_read_late(name: str) -> None:
    """A reader that was stopped for longer than max_skew, while the clock stood below W."""
    expected, sent = run(WallClock(STEPS[name]), stall=range(6, 12))
    assert expected.counts["timely"] == sent


def test_each_step_is_told_once_with_its_size() -> None:
    expected, _ = run(WallClock([(4.05, HOUR), (5.05, -HOUR), (8.05, -1)]))
    assert [round(size / SECOND_NS) for size in expected.model.steps] == [3600, -3600, -1]
    expected, _ = run(WallClock(STEPS["ahead for less than a tick"]))
    (size,) = expected.model.steps
    assert 3599 < size / SECOND_NS <= 3600, "its packets say so, no reading does"


@pytest.mark.parametrize("seed", range(30))
def test_steps_at_random(seed: int) -> None:
    """Also where no packet comes for a while."""
    rng = random.Random(seed)
    sizes = [-MINUTE, -3, -1.5, -0.5, -0.02, 0.5, 1.9, 2.1, 5, MINUTE, HOUR]
    steps = [(rng.uniform(0, 12), rng.choice(sizes)) for _ in range(rng.randrange(1, 6))]
    expected, sent = run(WallClock(steps), every=rng.choice([20, 300, 2500]) * MS_NS)
    assert expected.counts["timely"] == sent


@pytest.mark.parametrize("name", STEPS)
def test_windows_have_all_packets_and_come_once(name: str) -> None:
    wall, link, rows, sent = WallClock(STEPS[name]), MockLink(block_count=16), [], 0
    with MockSession(plan_of(COUNTS, ["link"]), [link.source()], SETTINGS) as session:
        for now in range(0, 14 * SECOND_NS, TICK_NS):
            stamps = stamps_in(wall, max(0, now - TICK_NS), now, 20 * MS_NS)
            sent += link.receive(*map(frame, stamps))
            link.retire()
            session.set_clock(now, wall.at(now))
            rows += session.rows()
        rows += session.end()
    assert sum(n for _, n in rows) == sent
    assert len({time for time, _ in rows}) == len(rows)


@pytest.mark.parametrize("name", ["an hour ahead for a second", "ahead for less than a tick"])
def test_packets_of_one_of_two_links(name: str) -> None:
    """One link's packets are stamped by a clock that glitches; the other's, and ours, are right."""
    right, wrong = WallClock([]), WallClock(STEPS[name])
    links = [MockLink(block_count=16), MockLink(block_count=16)]
    sources = [links[0].source("left"), links[1].source("right")]
    expected = [Expected(), Expected()]
    with MockSession(plan_of(EACH, ["left", "right"]), sources, SETTINGS) as session:
        for now in range(0, 10 * SECOND_NS, TICK_NS):
            session.set_clock(now, right.at(now))
            entered = []
            for link, wall, one in zip(links, (wrong, right), expected, strict=True):
                stamps = stamps_in(wall, max(0, now - TICK_NS), now, 20 * MS_NS)
                link.receive(*map(frame, stamps))
                link.retire()
                entered += one.tick(now, right.at(now), stamps)
            assert sorted(timestamps(session)) == sorted(entered)
            for index, one in enumerate(expected):
                check_link(session, index, one)
    assert [len(one.model.steps) for one in expected] == [1, 0]
    assert expected[0].counts["carried"] > 0 == expected[1].counts["carried"]


def test_a_link_beside_one_with_another_max_skew() -> None:
    """Each is held by its own."""
    links = [MockLink(), MockLink()]
    sources = [links[0].source("left"), links[1].source("right", max_skew_ns=10 * SECOND_NS)]
    with MockSession(plan_of(EACH, ["left", "right"]), sources, SETTINGS) as session:
        session.set_clock(0)
        session.rows()
        for link in links:
            link.receive(frame(START_NS + 5 * SECOND_NS))
            link.retire()
        found = timestamps(session)
    assert sorted(timestamp - START_NS for timestamp in found) == [0, 5 * SECOND_NS]
