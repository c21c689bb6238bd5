# SPDX-License-Identifier: Apache-2.0
"""Time on demand (OPERATORS section 6), on mock rings and a mock clock.

After every tick rows, promises and counters are those of a model of the whole path.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import pyarrow
import pytest

from gigastream.sessions.high_session import HighSession
from gigastream.sessions.shape import SessionOptions
from gigastream.sessions.threaded_session import ThreadedSession
from gigastream.settings import Settings
from tests.engine.stepping import bound, out_of, plan_of
from tests.live.mock_link import MS_NS, SECOND_NS, START_NS, MockLink, MockSession, frame, seconds
from tests.live.test_clock_steps import native_statistics
from tests.models.bounds import NEVER
from tests.models.ring_time import RingTime

NAMES = ("east", "west")
COUNTS = plan_of("SELECT tb, count(*) AS n FROM PKT GROUP BY time AS tb", NAMES)
MAX_SKEW_NS, SLACK_NS = 2 * SECOND_NS, 10 * MS_NS
TICK_NS = 50 * MS_NS


def at(seconds_: float) -> int:
    """Wall clock, when so many seconds have passed."""
    return START_NS + round(seconds_ * SECOND_NS)


def end_of(window: int) -> int:
    """The packet time at which a second is over."""
    return (window + 1) * SECOND_NS


@dataclass
class ModelLink:
    """A link and its LFTA: time, and the second whose group it holds.

    The groups of all seconds have one slot: one that enters takes the place of the other.
    """

    leaves_in_order: bool
    time: RingTime = field(default_factory=lambda: RingTime(MAX_SKEW_NS, SLACK_NS))
    held: set[int] = field(default_factory=set)
    wanted: int | None = None
    asked: int = 0
    answered: int = 0

    def enter(self, second: int) -> set[int]:
        """A packet enters; what leaves for it."""
        left, self.held = self.held - {second}, {second}
        return left

    def leave(self) -> set[int]:
        """The seconds that W has passed, or H, leave the table, nothing else being done."""
        reached = self.time.promise
        if not self.leaves_in_order:
            reached = max(reached, self.time.high)
        left = {window for window in self.held if end_of(window) <= reached}
        self.held -= left
        return left

    def ask(self, above: set[int], now: int) -> bool:
        """Its own table and who waits above want the first end that is not promised."""
        ends = {end_of(window) for window in self.held | above}
        wanted = min((end for end in ends if end > self.time.promise), default=None)
        self.asked += wanted is not None and wanted != self.wanted
        self.wanted = wanted
        given = wanted is not None and self.time.ask(now, wanted)
        self.answered += given
        return given


@dataclass
class Model:
    """Two links, a union and an aggregation by seconds, with `--time` of this kind."""

    time: str
    flush: str | None
    waiting: set[int] = field(default_factory=set)
    timer_at: int = 0

    def __post_init__(self) -> None:
        self.links = [ModelLink(self.flush in ("immediate", "slow_inorder")) for _ in NAMES]

    def tick(self, now: int, stamps: Sequence[Sequence[int]]) -> set[int]:
        """The timer, where it is due; what was retired; requests. The seconds that are answered."""
        wall = START_NS + now
        beats = self.time in ("periodic", "both") and now >= self.timer_at
        if now >= self.timer_at:
            self.timer_at = now + SECOND_NS
        for link, came in zip(self.links, stamps, strict=True):
            if beats:
                link.time.heartbeat(now, wall, bool(came))
        for link, came in zip(self.links, stamps, strict=True):
            packets = link.time.burst(now, wall, came) if came else []
            for packet in packets:
                if packet.verdict == "timely":
                    self.waiting |= link.enter(packet.timestamp // SECOND_NS)
        return set(self._settle(now))

    def _settle(self, now: int) -> Iterator[int]:
        goes_on = True
        while goes_on:
            for link in self.links:
                self.waiting |= link.leave()
            yield from (done := {w for w in self.waiting if end_of(w) <= self.promise})
            self.waiting -= done
            asks = self.time in ("on-demand", "both")
            goes_on = asks and sum(link.ask(self.waiting, now) for link in self.links) > 0

    @property
    def promise(self) -> float:
        return min(link.time.promise for link in self.links)


@dataclass
class Rings:
    """A session over two mock links, and its model."""

    session: MockSession
    links: tuple[MockLink, MockLink]
    model: Model

    def tick(self, now: int, *stamps: Sequence[int]) -> set[int]:
        """Let packets come to each link and be handed over; the seconds whose rows came."""
        for link, came in zip(self.links, stamps, strict=True):
            link.receive(*map(frame, came))
            link.retire()
        self.session.set_clock(now)
        found = {START_NS // SECOND_NS + second for second in seconds(self.session.rows())}
        assert found == self.model.tick(now, stamps)
        self.check()
        return {second - START_NS // SECOND_NS for second in found}

    def check(self) -> None:
        for index, link in enumerate(self.model.links):
            seen = native_statistics(self.session, index)
            assert bound(seen.high_timestamp_ns) == link.time.high
            assert bound(seen.promise_ns) == link.time.promise
            assert (seen.wanted.count, seen.answered) == (link.asked, link.answered)


def rings(time: str, flush: str | None = None) -> Rings:
    links = MockLink(), MockLink()
    sources = [link.source(name) for link, name in zip(links, NAMES, strict=True)]
    settings = Settings(time=time, flush=flush, hash_key=(1, 2))
    return Rings(MockSession(COUNTS, sources, settings), links, Model(time, flush))


def first_tick(of: Rings, now: int = 0) -> None:
    """Both links speak, so that something is known of their time."""
    of.tick(now, [at(0.1), at(0.2)], [at(0.1), at(0.2)])


@pytest.mark.parametrize(
    "flush", ["immediate", "slow_inorder", "slow"], ids=lambda name: f"flush-{name}"
)
def test_rows_of_a_busy_link_do_not_wait_for_a_silent_one(flush: str) -> None:
    """H of the silent one was .1 when the clock said .3: its second is over at 1.21 (δ = 10 ms)."""
    of = rings("on-demand", flush)
    with of.session as session:
        first_tick(of, 300 * MS_NS)
        came = {}
        for now in range(350 * MS_NS, 3 * SECOND_NS, TICK_NS):
            stamp = START_NS + now
            for second in of.tick(now, [stamp - 1, stamp], []):
                came[second] = now
        assert came == {0: 1250 * MS_NS, 1: 2250 * MS_NS}
        assert session.source(1).answered == 2


@pytest.mark.parametrize(
    ("time", "expected"),
    [
        ("on-demand", {0: 950 * MS_NS}),
        ("both", {0: 950 * MS_NS}),
        ("periodic", {0: 3 * SECOND_NS}),
        ("none", {}),
    ],
)
def test_when_a_second_is_over_on_silent_links(time: str, expected: dict[int, int]) -> None:
    """H is .1 from the beginning; or the clock, less max-skew, has passed it at a heartbeat."""
    of = rings(time)
    with of.session:
        first_tick(of)
        ticks = range(TICK_NS, 6 * SECOND_NS, TICK_NS)
        assert {second: now for now in ticks for second in of.tick(now, [], [])} == expected


def test_nothing_is_said_before_the_second_packet() -> None:
    """Of one packet it is not known whether its timestamp lies."""
    of = rings("on-demand")
    with of.session:
        for now in range(0, 5 * SECOND_NS, TICK_NS):
            assert not of.tick(now, [at(0.1), at(0.2)] * (now == 0), [at(0.1)] * (now == 0))
        assert of.model.links[1].time.promise == NEVER
        assert of.tick(5 * SECOND_NS, [], [at(5)]) == set()
        assert of.tick(6 * SECOND_NS, [], []) == {0}


def test_a_ring_that_holds_something_back_does_not_answer() -> None:
    """The packet in the block that is being filled is seen, and nothing is promised beyond it."""
    of = rings("on-demand")
    with of.session as session:
        first_tick(of)
        of.links[1].receive(frame(at(0.9)))
        for now in range(TICK_NS, 3 * SECOND_NS, TICK_NS):
            session.set_clock(now)
            assert session.rows() == []
        assert session.source(1).answered == 0
        of.links[1].retire()
        assert session.rows() == []
        assert session.source(1).skew == 0
        session.set_clock(4 * SECOND_NS)
        assert seconds(session.rows()) == {0: 5}


def test_what_comes_below_an_answer_is_skew() -> None:
    of = rings("on-demand")
    with of.session as session:
        first_tick(of)
        for now in range(TICK_NS, 2 * SECOND_NS, TICK_NS):
            of.tick(now, [], [])
        promise = of.model.links[1].time.promise
        assert promise == at(0.95 + 0.1 - 0.01)
        of.tick(2 * SECOND_NS, [], [promise - 1, promise])
        assert (session.source(1).skew, session.source(1).late) == (1, 0)


def test_an_lfta_that_is_asked_lets_go_of_what_it_would_keep() -> None:
    """`lazy` keeps two seconds more, but not where the rows of another link wait for them."""
    of = rings("on-demand", "lazy")
    with of.session as session:
        for link in of.links:
            link.receive(frame(at(0.1)), frame(at(0.2)))
            link.retire()
        session.set_clock(0)
        assert session.rows() == []
        stamps = [at(second + 0.1) for second in range(1, 5)]
        of.links[0].receive(*map(frame, stamps))
        of.links[0].retire()
        session.set_clock(SECOND_NS)
        assert seconds(session.rows()) == {0: 4}
        assert session.source(1).answered == 1


@pytest.mark.parametrize("time", ["on-demand", "both", "periodic", "none"])
@pytest.mark.parametrize("seed", range(6))
def test_the_path_is_the_models(time: str, seed: int) -> None:
    """Packets at random, links that fall silent, a little disorder."""
    chance = random.Random(seed)
    of = rings(time, chance.choice(["immediate", "slow"]))
    with of.session:
        for now in range(0, 12 * SECOND_NS, TICK_NS):
            rates = [chance.choice([0, 0, 1, 3]) for _ in NAMES]
            of.tick(
                now,
                *(
                    sorted(START_NS + now - chance.randrange(1, 45 * MS_NS) for _ in range(rate))
                    for rate in rates
                ),
            )


def test_what_packets_have_promised_is_said_when_it_is_asked_for() -> None:
    """No consumer of a merge is told of each packet; one that waits for it is."""
    plan = plan_of("MERGE a.timestamp : b.timestamp FROM east.PKT a, west.PKT b", NAMES)
    links = MockLink(), MockLink()
    sources = [link.source(name) for link, name in zip(links, NAMES, strict=True)]
    with MockSession(plan, sources, Settings(time="on-demand", hash_key=(1, 2))) as session:
        came = []
        for turn in range(5):
            for link in links:
                link.receive(*(frame(at(turn + tenth)) for tenth in (0.1, 0.2, 0.3)))
                link.retire()
            session.set_clock(turn * SECOND_NS + 300 * MS_NS)
            came.append(len(session.rows()))
    assert came == [2, 6, 6, 6, 6]


def test_counters_reach_whoever_looks() -> None:
    of = rings("on-demand")
    with of.session as session:
        first_tick(of)
        for now in range(TICK_NS, 2 * SECOND_NS, TICK_NS):
            of.tick(now, [], [])
        for source in session.statistics().sources:
            assert (source.asked, source.answered) == (1, 1)


# Rings of one link, each read by a thread of its own


def test_whoever_gets_the_batches_may_want_time() -> None:
    """Of an interface whose own table holds nothing: it says how far it is, once it can."""
    link, settings = MockLink(), Settings(time="on-demand", low_level_only=True, hash_key=(1, 2))
    plan = plan_of("SELECT tb, count(*) AS n FROM PKT GROUP BY time AS tb", ["link"])
    with MockSession(plan, [link.source()], settings, SessionOptions(low_taps=True)) as session:
        session.set_clock(0)
        link.receive(frame(at(0.1)), frame(at(0.1)))
        link.retire()
        list(session.events())
        session.set_clock(SECOND_NS)
        list(session.events())
        session.want({"link": at(4), "another": at(2)})
        said = {}
        for now in range(SECOND_NS, 6 * SECOND_NS, TICK_NS):
            session.set_clock(now)
            for event in session.events():
                said[now] = event.batch.bounds[0] - START_NS // SECOND_NS
    assert said == {4 * SECOND_NS - 50 * MS_NS: 4}


def test_what_is_waited_for_is_known_by_port() -> None:
    plan = plan_of("SELECT tb, count(*) AS n FROM PKT GROUP BY time/10 AS tb", NAMES)
    with HighSession(plan, ["link", "link"], Settings()) as up:
        assert up.wanted() == {}
        (stream,) = {stream for stream, _ in up.ports}
        batch = pyarrow.record_batch(
            {"tb": pyarrow.array([7], pyarrow.uint32()), "count0": pyarrow.array([1], "uint64")}
        )
        up.push(stream, "link", batch, [8, -(1 << 63)])
        assert not list(up.batches())
        assert list(up.wanted().values()) == [80 * SECOND_NS]
        (waiting,) = up.wanted()
        assert up.ports[waiting] == (stream, "link")


def test_a_ring_that_has_fallen_silent_is_asked_by_another_ones_rows() -> None:
    """Two rings of a link, the real clock, no heartbeats: rows of one leave all the same."""
    links = MockLink(), MockLink()
    parts = [[replace(link.source(), ring=ring)] for ring, link in enumerate(links)]
    plan = plan_of("SELECT tb, count(*) AS n FROM PKT GROUP BY time AS tb", ["link"])
    begun = time.time_ns()
    for link in links:
        link.receive(frame(begun), frame(begun))
        link.retire()
    found: dict[int, int] = {}
    with ThreadedSession(plan, parts, Settings(time="on-demand")) as session:
        for turn in session.turns():
            for out in (out_of(event.query, event.batch) for event in turn):
                found.update({row[0] - begun // SECOND_NS: row[1] for row in out.rows})
            if found == {0: 4}:
                links[0].receive(frame(time.time_ns()))
                links[0].retire()
            if len(found) > 1:
                session.stop()
    later = {second: count for second, count in found.items() if second > 0}
    assert found[0] == 4
    assert later
