# SPDX-License-Identifier: Apache-2.0
"""A join asks a silent link for the time by which a row has no match (OPERATORS section 6)."""

from __future__ import annotations

import pytest

from gigastream.settings import Settings
from tests.engine.stepping import plan_of
from tests.live.mock_link import MS_NS, SECOND_NS, MockLink, MockSession, frame
from tests.live.test_on_demand import NAMES, TICK_NS, at

UNMATCHED = plan_of(
    "SELECT a.time_ms, b.len LEFT_OUTER_JOIN FROM east.PKT a, west.PKT b "
    "WHERE a.timestamp = b.timestamp AND a.interface = b.interface",
    NAMES,
)


@pytest.mark.parametrize(("time", "left"), [("on-demand", [450 * MS_NS]), ("none", [])])
def test_a_row_without_a_match_does_not_wait_for_a_silent_link(time: str, left: list[int]) -> None:
    """Of the silent one .1 was H when the clock said 0: it is past .5 at .41 (δ = 10 ms)."""
    links = MockLink(), MockLink()
    sources = [link.source(name) for link, name in zip(links, NAMES, strict=True)]
    with MockSession(UNMATCHED, sources, Settings(time=time, hash_key=(1, 2))) as session:
        for link in links:
            link.receive(frame(at(0.09)), frame(at(0.1)))
            link.retire()
        session.set_clock(0)
        session.rows()
        found = []
        for now in range(TICK_NS, 3 * SECOND_NS, TICK_NS):
            if now == TICK_NS:
                links[0].receive(frame(at(0.5)), frame(at(0.5)))
                links[0].retire()
            session.set_clock(now)
            rows = [row for row in session.rows() if row[0] * MS_NS >= at(0.5)]
            assert all(other is None for _, other in rows)
            found += [now] * bool(rows)
        assert found == left
