# SPDX-License-Identifier: Apache-2.0
"""Windows: rows and punctuation after every batch equal those of windows filled one by one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from math import gcd
from pathlib import Path

import pytest
from hypothesis import given, settings

from gigastream.plan import Plan
from gigastream.sessions.session import Session
from gigastream.sources.files import FileSource
from tests.engine.high_level import Aggregated, Follower, follow
from tests.engine.low_level import Tuning
from tests.engine.stepping import Row, plan_of, run_steps
from tests.engine.test_hfta import ADD, SAME, run, tunings
from tests.engine.traffic import EPOCH_NS, SECOND_NS, crowd, packet, streams
from tests.models.bounds import Column
from tests.models.hfta import Batch, Closed
from tests.models.windows import Slide
from tests.strategies.files import NANOSECONDS, Packet, pcap

SELECTED = """
DEFINE { query_name rows; visibility internal; } SELECT time, srcIP, len FROM IPV4;
"""
RATIOS = [(60, 10), (25, 10), (7, 3), (10, 10), (10, 25), (300, 1)]


@dataclass(frozen=True)
class Case:
    """A query of wid, the other temporal variables, keys, count(*) and sum(len)."""

    range: int
    slide: int
    is_high: bool = False
    fours: bool = False
    """GROUP BY time/4 beside the window."""

    def text(self) -> str:
        window = f"[RANGE {self.range}, SLIDE {self.slide}, WA time]"
        source = "rows" if self.is_high else "IPV4"
        groups = "time/4 AS fours, srcIP" if self.fours else "srcIP"
        names = "fours, srcIP" if self.fours else "srcIP"
        return (
            f"{SELECTED if self.is_high else ''}DEFINE {{ query_name q; }} "
            f"SELECT wid_start, {names}, count(*) AS packets, sum(len) AS bytes "
            f"FROM {source} {window} GROUP BY {groups}"
        )

    @property
    def unit(self) -> int:
        """What the first column of the operator's input counts, in seconds."""
        overlaps = self.range > self.slide
        return 1 if self.is_high else gcd(self.range, self.slide) if overlaps else self.slide

    @property
    def input(self) -> str:
        return "rows" if self.is_high else "q_low"

    @property
    def width(self) -> int:
        return 2 if self.fours and not self.is_high else 1

    def row(self, row: Row) -> Row:
        """(temporal values, group, state) of a row of the input."""
        value = row[0] * self.unit
        if self.is_high:
            fours = (row[0] // 4,) if self.fours else ()
            return (value, *fours), (row[1],), (1, row[2])
        fours = (row[1],) if self.fours else ()
        return (value, *fours), (row[-3],), row[-2:]

    def model(self) -> Slide:
        of_time = (0, Column(lambda bound: bound * self.unit))
        of_fours = (0, Column(lambda time: time // 4)) if self.is_high else (1, SAME)
        return Slide(self.range, self.slide, [of_time, *[of_fours] * self.fours], ADD)


class Slid(Aggregated):
    """What an input row of a gap's partial rows is, nobody sees: those are not there."""

    def __init__(self, case: Case) -> None:
        columns = tuple(range(case.width))
        out_columns = tuple(range(2 if case.fours else 1))
        model = case.model()
        super().__init__(model, case.row, columns, out_columns)  # type: ignore[arg-type]
        self._windows = model

    def close(self, batch: Batch) -> list[Closed]:
        rows = tuple(map(self._state, batch.rows))
        return self._windows.on_batch(replace(batch, rows=rows))[0]


def follower(case: Case) -> Follower:
    return Slid(case)


@cache
def plan(case: Case) -> Plan:
    return plan_of(case.text())


CASES = [
    *(Case(*ratio) for ratio in RATIOS if ratio[0] >= ratio[1]),
    *(Case(*ratio, is_high=True) for ratio in RATIOS),
    *(Case(*ratio, fours=True) for ratio in [(25, 10), (7, 3)]),
    *(Case(*ratio, is_high=True, fours=True) for ratio in [(25, 10), (10, 25)]),
]


def name(case: Case) -> str:
    level = "high" if case.is_high else "low"
    return f"{case.range}/{case.slide} {level}{' two clocks' if case.fours else ''}"


@pytest.mark.parametrize("case", CASES, ids=name)
@settings(max_examples=30)
@given(tuning=tunings, packets=streams())
def test_every_ratio(case: Case, tuning: Tuning, packets: list[Packet]) -> None:
    calls = run(plan(case), tuning, packets, case.input)
    follow(calls, [case.input], "q", follower(case))


@pytest.mark.parametrize("case", CASES, ids=name)
def test_every_ratio_in_a_crowd(case: Case) -> None:
    packets = crowd(9, 1_500, hosts=40, seconds=200, back_seconds=25)
    calls = run(plan(case), Tuning(disorder_bytes=4_000), packets, case.input)
    follow(calls, [case.input], "q", follower(case))


# ---- max_groups ----


def test_windows_that_lack_rows_are_marked_and_no_others() -> None:
    """In one pane of ten seconds five groups meet where four have room."""
    crowded = [packet(23, source=host) for host in range(5)]
    single = [packet(at, source=7) for at in (1, 44, 55, 66)]
    case = Case(20, 10)
    plain = Tuning(policy="immediate", slots=64, slack_ns=0).settings()
    limited = replace(plain, max_groups=4)
    packets = sorted([*crowded, *single], key=lambda made: made.timestamp_ns)
    calls = run_steps(plan(case), [("default", pcap(packets, magic=NANOSECONDS))], limited)
    outs = [out for call in calls for out in call.outs if out.rows]
    first = EPOCH_NS // SECOND_NS // 10
    marks = {row[0] - first: out.is_partial for out in outs for row in out.rows}
    assert marks == {w: w in (2, 3) for w in (0, 1, 2, 3, 4, 5, 6, 7)}
    assert sum(row[2] for out in outs for row in out.rows) == 2 * (len(packets) - 1)


# ---- memory ----


def held(case: Case, capture: Path) -> list[tuple[int, int]]:
    """At each heartbeat the groups of the panes, and the bytes that they take."""
    found = []
    settings = Tuning(slots=1 << 16, slack_ns=0, heartbeat_ns=SECOND_NS).settings()
    with Session(plan(case), [FileSource("default", str(capture))], settings) as session:
        for event in session.batches():
            if event.batch.is_heartbeat:
                (operator,) = session.statistics().operators
                found.append((operator.held, operator.held_bytes))
    return found


@pytest.mark.parametrize("case", [Case(20, 5), Case(10, 10), Case(30, 1)], ids=name)
def test_memory_is_given_back_while_windows_go_on(case: Case, tmp_path: Path) -> None:
    """A burst of many groups, and a few in every second: there is no moment without a pane."""
    few = [packet(at + host / 10, source=host) for at in range(110) for host in range(6)]
    burst = [packet(30 + host / 40_000, source=host) for host in range(30_000)]
    packets = sorted([*few, *burst], key=lambda made: made.timestamp_ns)
    capture = tmp_path / "burst.pcap"
    capture.write_bytes(pcap(packets, magic=NANOSECONDS))
    of_run = held(case, capture)
    assert max(bytes_ for _, bytes_ in of_run) > 2_000_000
    groups, bytes_ = of_run[-20]
    assert groups <= 6 * 31
    assert bytes_ < 60_000
