# SPDX-License-Identifier: Apache-2.0
"""TCP in order on a link that falls silent: what is held goes on, and windows close."""

from __future__ import annotations

import pytest

from gigastream.settings import Settings
from tests.engine.stepping import plan_of
from tests.live.mock_link import MS_NS, SECOND_NS, START_NS, Frame, MockLink, MockSession
from tests.strategies.segments import Way

MAX_SKEW_NS, WAIT_NS = 2 * SECOND_NS, 2 * SECOND_NS
ORDERED = "DEFINE { tcp_order; } "
ROWS = "SELECT packet_id, sequence_number FROM TCP"
COUNTS = "SELECT tb, count(*) AS n FROM TCP GROUP BY time AS tb"


def _received(link: MockLink) -> None:
    """The second of three segments is missing when the link falls silent."""
    way = Way(1)
    data = [way.frame(0, b"abc"), way.frame(9, b"xyz"), way.frame(12, b"!")]
    frames = [Frame(START_NS + at * MS_NS, each, len(each)) for at, each in enumerate(data)]
    assert link.receive(*frames) == len(frames)
    link.retire()


@pytest.mark.parametrize("time", ["periodic", "on-demand"])
def test_what_is_held_goes_on_when_the_clock_has_come_there(time: str) -> None:
    link = MockLink()
    plan = plan_of(ORDERED + ROWS, ["link"])
    with MockSession(plan, [link.source()], Settings(time=time)) as session:
        session.set_clock(0)
        _received(link)
        found = {}
        for now_ns in range(0, 8 * SECOND_NS, 100 * MS_NS):
            session.set_clock(now_ns)
            found.update(dict.fromkeys(session.rows(), now_ns))
        (lfta,) = session.statistics().lftas
    assert list(found) == [(0, 0), (1, 9), (2, 12)]
    assert found[0, 0] == 0
    assert WAIT_NS < found[1, 9] == found[2, 12] <= WAIT_NS + MAX_SKEW_NS + SECOND_NS
    assert (lfta.segments_held, lfta.gaps_waited) == (2, 1)


@pytest.mark.parametrize("time", ["periodic", "on-demand"])
def test_windows_close_with_all_that_was_held(time: str) -> None:
    link = MockLink()
    plan = plan_of(ORDERED + COUNTS, ["link"])
    with MockSession(plan, [link.source()], Settings(time=time)) as session:
        session.set_clock(0)
        _received(link)
        found = {}
        for now_ns in range(0, 8 * SECOND_NS, 100 * MS_NS):
            session.set_clock(now_ns)
            found.update(dict.fromkeys(session.rows(), now_ns))
    ((_, count),) = found
    assert count == 3
    closed_ns = next(iter(found.values()))
    least_ns = SECOND_NS + WAIT_NS + (MAX_SKEW_NS if time == "periodic" else 0)
    assert least_ns <= closed_ns <= least_ns + SECOND_NS


def test_a_set_that_goes_gives_all_that_it_holds() -> None:
    link = MockLink()
    plan = plan_of(ORDERED + ROWS, ["link"])
    with MockSession(plan, [link.source()], Settings()) as session:
        session.set_clock(0)
        _received(link)
        assert session.rows() == [(0, 0)]
        assert session.end() == [(1, 9), (2, 12)]
        (lfta,) = session.statistics().lftas
    assert (lfta.gaps_waited, lfta.gaps_ended) == (0, 1)
