# SPDX-License-Identifier: Apache-2.0
"""Time on a live link (OPERATORS section 2, Ring), on a mock ring and a mock clock."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gigastream.settings import Settings
from gigastream.sources.files import FileSource, SourceError
from gigastream.sources.live import LiveSettings
from tests.engine.stepping import plan_of
from tests.live.mock_link import (
    MS_NS,
    SECOND_NS,
    START_NS,
    MockLink,
    MockSession,
    frame,
    seconds,
)
from tests.strategies.files import NANOSECONDS, Packet, pcap

COUNTS = "SELECT tb, count(*) AS n FROM PKT GROUP BY time AS tb"
PLAN = plan_of(COUNTS, ["link"])
MAX_SKEW_NS = 2 * SECOND_NS
TICK_NS = 100 * MS_NS
LAZY_WINDOWS = 2
"""max_lfta_disorder: the windows that `lazy` keeps when they are over."""


@pytest.fixture
def link() -> MockLink:
    return MockLink()


def session_of(
    link: MockLink, *, policy: str | None = None, burst: int = 64, **settings: object
) -> MockSession:
    run = Settings(flush=policy, burst=burst, hash_key=(1, 2), time="periodic")
    return MockSession(PLAN, [link.source(**settings)], run)


def at(seconds_: float) -> int:
    """Wall clock, when so many seconds have passed."""
    return START_NS + round(seconds_ * SECOND_NS)


def ticks(first_ns: int, last_ns: int) -> Iterator[int]:
    yield from range(first_ns, last_ns + 1, TICK_NS)


@pytest.mark.parametrize(
    "policy", ["immediate", "slow_inorder", "slow", "lazy"], ids=lambda name: f"flush-{name}"
)
def test_a_window_closes_on_a_silent_link(link: MockLink, policy: str) -> None:
    """Not before clock - max_skew has passed it; within a timer period and the policy's bound."""
    late_ns = SECOND_NS * (LAZY_WINDOWS if policy == "lazy" else 0)
    with session_of(link, policy=policy) as session:
        session.set_clock(0)
        link.receive(frame(at(0.2)), frame(at(0.3)), frame(at(0.4)))
        link.retire()
        closed_ns = None
        for now_ns in ticks(0, 8 * SECOND_NS):
            session.set_clock(now_ns)
            rows = session.rows()
            if rows:
                assert seconds(rows) == {0: 3}
                assert closed_ns is None
                closed_ns = now_ns
    assert closed_ns is not None
    passed_ns = SECOND_NS + MAX_SKEW_NS
    assert passed_ns <= closed_ns <= passed_ns + SECOND_NS + late_ns


@pytest.mark.parametrize("period_ms", [100, 1000, 3000])
def test_heartbeats_come_once_a_period_on_a_silent_link(link: MockLink, period_ms: int) -> None:
    settings = Settings(heartbeat_ns=period_ms * MS_NS, output_punctuation=True)
    with MockSession(PLAN, [link.source()], settings) as session:
        beats = 0
        for now_ns in ticks(0, 30 * SECOND_NS - 1):
            session.set_clock(now_ns)
            beats += sum(out.is_heartbeat for out in session.outs())
    assert beats == 30_000 // period_ms


def test_what_comes_behind_the_clock_is_skew_and_counted(link: MockLink) -> None:
    with session_of(link) as session:
        for now_ns in ticks(0, 10 * SECOND_NS):
            session.set_clock(now_ns)
            assert session.rows() == []
        link.receive(frame(at(7.999)), frame(at(8.0)), frame(at(8.5)), frame(at(1)))
        link.retire()
        rows = session.rows() + session.end()
        assert seconds(rows) == {8: 2}
        counted = session.source()
    assert (counted.read, counted.skew, counted.late, counted.decoded) == (4, 2, 0, 2)
    assert counted.worst_lateness_ns == 7 * SECOND_NS


def test_what_comes_behind_the_packets_is_late(link: MockLink) -> None:
    with session_of(link, link_slack_ns=10 * MS_NS) as session:
        session.set_clock(SECOND_NS)
        link.receive(*(frame(at(t)) for t in (0.5, 0.5, 0.49, 0.489999, 0.4)))
        link.retire()
        assert seconds(session.rows() + session.end()) == {0: 3}
        counted = session.source()
    assert (counted.read, counted.late, counted.skew) == (5, 2, 0)


def test_a_backlog_is_no_skew(link: MockLink) -> None:
    """A reader that stood still for a minute reads what is in the ring; time passes afterwards."""
    with session_of(link) as session:
        session.set_clock(0)
        session.rows()
        link.receive(frame(at(1)), frame(at(1)))
        link.retire()
        session.set_clock(60 * SECOND_NS)
        rows = session.rows()
        assert session.source().skew == 0
        for now_ns in ticks(60 * SECOND_NS, 61 * SECOND_NS):
            session.set_clock(now_ns)
            rows += session.rows()
    assert seconds(rows) == {1: 2}


def test_a_clock_that_jumps_forward_is_believed_after_max_skew(link: MockLink) -> None:
    jump_ns = 3600 * SECOND_NS
    with session_of(link) as session:
        for now_ns in ticks(0, 5 * SECOND_NS):
            session.set_clock(now_ns)
            session.rows()
        session.set_clock(6 * SECOND_NS, at(6) + jump_ns)
        session.rows()
        link.receive(frame(at(6)), frame(at(6)))
        link.retire()
        session.set_clock(6 * SECOND_NS + TICK_NS, at(6) + jump_ns)
        session.rows()
        assert session.source().skew == 0
        for now_ns in range(7, 12):
            session.set_clock(now_ns * SECOND_NS, at(now_ns) + jump_ns)
            session.rows()
        link.receive(frame(at(11)), frame(at(11) + jump_ns))
        link.retire()
        session.rows()
        assert session.source().skew == 1


def test_a_clock_that_steps_back_takes_nothing_back(link: MockLink) -> None:
    with session_of(link) as session:
        for now_ns in ticks(0, 10 * SECOND_NS):
            session.set_clock(now_ns)
            session.rows()
        session.set_clock(11 * SECOND_NS, at(-3600))
        session.rows()
        link.receive(frame(at(7.9)), frame(at(8)))
        link.retire()
        session.rows()
        counted = session.source()
    assert (counted.skew, counted.carried, counted.decoded) == (0, 2, 2)


def test_an_interface_waits_for_the_last_of_its_links() -> None:
    """W is the least of the sources': one behind a slow clock holds the other's windows."""
    first, second = MockLink(), MockLink()
    sources = [first.source(), second.source(max_skew_ns=5 * SECOND_NS)]
    with MockSession(PLAN, sources, Settings()) as session:
        session.set_clock(0)
        first.receive(frame(at(0.1)))
        first.retire()
        closed = []
        for now_ns in ticks(0, 9 * SECOND_NS):
            session.set_clock(now_ns)
            closed += [now_ns] * len(session.rows())
    assert len(closed) == 1
    assert 6 * SECOND_NS <= closed[0] <= 7 * SECOND_NS


def test_one_link_does_not_wait_for_another() -> None:
    """A link that is never silent does not keep another's blocks from being read."""
    busy, calm = MockLink(block_count=8), MockLink()
    plan = plan_of(
        "SELECT tb, interface, count(*) AS n FROM PKT GROUP BY time AS tb, interface",
        ["busy", "calm"],
    )
    with MockSession(plan, [busy.source("busy"), calm.source("calm")], Settings()) as session:
        session.set_clock(0)
        session.rows()
        busy.receive(*(frame(at(0.1)) for _ in range(100)))
        calm.receive(frame(at(0.1)))
        busy.retire()
        calm.retire()
        session.rows()
        assert [s.read for s in session.statistics().sources] == [100, 1]


def test_a_skew_that_the_ring_itself_may_cause_is_refused() -> None:
    settings = LiveSettings(max_skew_ns=SECOND_NS + 50 * MS_NS, retire_ns=100 * MS_NS)
    with pytest.raises(SourceError, match="retire timeout"):
        settings.check()
    LiveSettings(max_skew_ns=SECOND_NS + 100 * MS_NS, retire_ns=100 * MS_NS).check()


def test_a_file_beside_a_link(link: MockLink, tmp_path: Path) -> None:
    """The link goes first, and the file is read to its end while the link is silent."""
    path = tmp_path / "old.pcap"
    path.write_bytes(pcap([Packet(at(-86400), bytes(60), 60)] * 1000, magic=NANOSECONDS))
    plan = plan_of(
        "SELECT tb, interface, count(*) AS n FROM PKT GROUP BY time AS tb, interface",
        ["link", "old"],
    )
    sources = [link.source(), FileSource("old", str(path))]
    with MockSession(plan, sources, Settings()) as session:
        session.set_clock(0)
        link.receive(frame(at(0.1)), frame(at(0.2)))
        link.retire()
        rows = session.rows()
        assert [s.read for s in session.statistics().sources] == [2, 1000]
        rows += session.end()
    assert {interface: n for _, interface, n in rows} == {b"link": 2, b"old": 1000}


def test_lag_is_how_far_a_reader_is_behind_while_there_is_more(link: MockLink) -> None:
    with session_of(link, burst=2) as session:
        session.set_clock(0)
        session.rows()
        link.receive(*(frame(at(0.1 * n)) for n in range(10)))
        link.retire()
        session.set_clock(2 * SECOND_NS)
        assert session.source().lag_ns == 0, "nothing has been read of which it could be said"
        assert session._engine.run(4, 0)
        read = session.source().read
        assert 0 < read < 10
        assert session.source().lag_ns == 2 * SECOND_NS - (read - 1) * 100 * MS_NS
        session.rows()
        assert (session.source().read, session.source().lag_ns) == (10, 0)
