# SPDX-License-Identifier: Apache-2.0
"""Windows of rows: over as soon as their rows are there, whatever the time is."""

from __future__ import annotations

from collections import defaultdict
from functools import cache
from math import gcd

import pytest

from gigastream.plan import Plan
from gigastream.sessions.row_windows import SeveralSourcesError
from tests.engine.low_level import Tuning
from tests.engine.stepping import plan_of, run_steps
from tests.engine.traffic import crowd
from tests.models.bounds import END
from tests.models.windows import windows_over
from tests.strategies.files import NANOSECONDS, pcap

RATIOS = [(30, 10), (25, 10), (7, 3), (10, 10), (3, 20), (5, 1)]
PACKETS = crowd(3, 200, hosts=5, seconds=40, back_seconds=10)
CAPTURE = pcap(PACKETS, magic=NANOSECONDS)
EVERYTHING = 1_000
LONG = 90
"""Bytes of a packet that WHERE lets through."""


@cache
def plan(range_: int, slide: int, more: str = "") -> Plan:
    return plan_of(
        "DEFINE { query_name q; } SELECT wid_start, count(*) AS packets, sum(len) AS bytes "
        f"FROM IPV4 [RANGE {range_} ROWS, SLIDE {slide} ROWS] WHERE len >= {LONG} {more}"
    )


def expected(range_: int, slide: int, tuples: int) -> dict[int, tuple[int, int]]:
    """By window, packets and bytes of those that are over once there are so many tuples."""
    found: defaultdict[int, list[int]] = defaultdict(list)
    for number, packet in enumerate(PACKETS):
        for w in windows_over(number, range_, slide):
            if len(packet.data) >= LONG and w < tuples // slide:
                found[w].append(len(packet.data))
    return {w: (len(lengths), sum(lengths)) for w, lengths in found.items()}


@pytest.mark.parametrize("ratio", RATIOS, ids=str)
def test_windows_are_over_with_their_last_row(ratio: tuple[int, int]) -> None:
    """Rows and bound after each packet: those of what has been counted, not of what time it is."""
    tuning = Tuning(policy="immediate")
    given: dict[int, tuple[int, int]] = {}
    tuples, bound = 0, None
    for call in run_steps(plan(*ratio), [("default", CAPTURE)], tuning.settings()):
        tuples += call.records
        for out in call.outs:
            given |= {w: (packets, size) for w, packets, size in out.rows}
            (bound,) = out.punctuation([0])
        if call.records:
            assert bound == tuples // ratio[1]
            assert given == expected(*ratio, tuples)
    assert bound == END
    assert given == expected(*ratio, EVERYTHING)


@pytest.mark.parametrize("policy", ["slow", "slow_inorder", "lazy"])
@pytest.mark.parametrize("ratio", RATIOS, ids=str)
def test_no_pane_stays_for_long(ratio: tuple[int, int], policy: str) -> None:
    """Groups of an old pane may leave later, as those of any window: two panes, by default."""
    range_, slide = ratio
    pane = gcd(range_, slide) if range_ > slide else slide
    tuples, bound, given = 0, 0, {}
    calls = run_steps(plan(*ratio), [("default", CAPTURE)], Tuning(policy=policy).settings())
    for call in calls:
        tuples += call.records
        for out in call.outs:
            given |= {w: (packets, size) for w, packets, size in out.rows}
            (bound,) = out.punctuation([0])
        if call.records:
            assert (tuples // pane - 2) * pane // slide <= bound <= tuples // slide
    assert given == expected(*ratio, EVERYTHING)


@pytest.mark.parametrize("burst", [2, 64, 256])
def test_bursts_change_no_number(burst: int) -> None:
    tuning = Tuning(burst=burst)
    calls = run_steps(plan(25, 10), [("default", CAPTURE)], tuning.settings())
    rows = [row for call in calls for out in call.outs for row in out.rows]
    assert {w: (packets, size) for w, packets, size in rows} == expected(25, 10, EVERYTHING)


def test_several_sources_are_refused() -> None:
    two = [("default", CAPTURE), ("default", CAPTURE)]
    with pytest.raises(SeveralSourcesError, match="count one source, not 2"):
        run_steps(plan(30, 10), two, Tuning().settings())
