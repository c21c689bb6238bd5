# SPDX-License-Identifier: Apache-2.0
"""Running aggregation: rows and punctuation after every batch equal the model's; silence."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings

from gigastream.engine.statistics import OperatorStatistics
from gigastream.plan import Plan
from gigastream.sessions.session import Session
from gigastream.sources.files import FileSource
from tests.engine.high_level import Aggregated, follow
from tests.engine.low_level import Tuning
from tests.engine.stepping import Row, plan_of, run_steps
from tests.engine.test_hfta import SAME, run, tunings
from tests.engine.traffic import EPOCH_NS, SECOND_NS, crowd, packet, streams
from tests.models.bounds import Column
from tests.models.hfta import Batch, Closed
from tests.models.running import History, Running
from tests.strategies.files import NANOSECONDS, Packet, pcap

ROWS = """
DEFINE { query_name rows; visibility internal; } SELECT time, srcIP, len FROM IPV4;
"""
State = tuple[int, int]
"""count(*) and sum(len) of a window."""


def added(states: Sequence[State | None]) -> State:
    """Of several windows."""
    known = [state for state in states if state is not None]
    return sum(count for count, _ in known), sum(total for _, total in known)


def or_null(state: State) -> int | None:
    return state[1] if state[0] else None


def cells(history: History) -> Row:
    """count(*), sum(len), moving_sum(len, 3), running_sum(len)."""
    now = added(history[-1:])
    return (now[0], or_null(now), or_null(added(history[-3:])), added(history)[1])


@dataclass(frozen=True)
class Case:
    """A query of the window, the source, and these four; columns of a row are 0 to 5."""

    variable: str
    step: int
    having: str
    closing: str
    keeps: Callable[[Row], bool]
    closes: Callable[[Row], bool]
    is_high: bool = False
    options: str = ""

    def text(self) -> str:
        return (
            f"{ROWS if self.is_high else ''}DEFINE {{ query_name q; {self.options} }} "
            f"SELECT tb, srcIP, count(*) AS n, sum(len) AS s, moving_sum(len, 3) AS m, "
            f"running_sum(len) AS r FROM {'rows' if self.is_high else 'IPV4'} "
            f"GROUP BY {self.variable} AS tb, srcIP {self.having} CLOSING_WHEN {self.closing}"
        )

    @property
    def input(self) -> str:
        return "rows" if self.is_high else "q_low"

    def window_of(self, time: int) -> int:
        """`variable` of a time, for rows of another query."""
        return time // 10

    def row(self, row: Row) -> Row:
        """(window, group, state) of a row of the input."""
        if self.is_high:
            return (self.window_of(row[0]),), (row[1],), (1, row[2])
        count, total = (row[2], row[3])
        return row[:1], row[1:2], (count, total)

    def model(self) -> Running:
        column = Column(self.window_of) if self.is_high else SAME
        return Running(
            [(0, column)],
            self.step,
            lambda one, other: added([one, other]),
            cells,
            self.keeps,
            self.closes,
        )


class Gone(Aggregated):
    """A follower of the model."""

    def __init__(self, case: Case) -> None:
        model = case.model()
        super().__init__(model, case.row, (0,), (0,), has_having=True)  # type: ignore[arg-type]
        self._running = model

    def close(self, batch: Batch) -> list[Closed]:
        rows = tuple(map(self._state, batch.rows))
        return self._running.on_batch(replace(batch, rows=rows))[0]


def every(_row: Row) -> bool:
    return True


def silent(row: Row) -> bool:
    return row[2] == 0


SILENT = ("", "count(*) = 0", every, silent)
CASES = {
    "silent": Case("time/10", 1, *SILENT),
    "silent, high": Case("time/10", 1, *SILENT, is_high=True),
    "tens": Case(
        *("time/10*10", 10, "", "moving_sum(len, 3) IS NULL"), every, lambda row: row[4] is None
    ),
    "much": Case(
        *("time/10", 1, "HAVING count(*) > 0", "running_sum(len) > 400"),
        lambda row: row[2] > 0,
        lambda row: row[5] > 400,
    ),
    "never": Case(
        "time/10", 1, "HAVING count(*) > 0", "FALSE", lambda row: row[2] > 0, lambda row: False
    ),
    "by the clock": Case(
        *("time/10", 1, "HAVING tb % 3 = 0", "tb % 7 = 0"),
        lambda row: row[0] % 3 == 0,
        lambda row: row[0] % 7 == 0,
    ),
    "falling": Case(
        *("(3000000000 - time)/10", 1, "HAVING count(*) > 0", "count(*) = 0"),
        lambda row: row[2] > 0,
        silent,
    ),
}
FOLLOWED = {name: case for name, case in CASES.items() if name != "falling"}
"""Punctuation of a window that falls is of its negative: the others' models do not have it."""


@cache
def plan(case: Case) -> Plan:
    return plan_of(case.text())


@pytest.mark.parametrize("name", FOLLOWED)
@settings(max_examples=30)
@given(tuning=tunings, packets=streams())
def test_every_case(name: str, tuning: Tuning, packets: list[Packet]) -> None:
    case = FOLLOWED[name]
    follow(run(plan(case), tuning, packets, case.input), [case.input], "q", Gone(case))


@pytest.mark.parametrize("name", FOLLOWED)
def test_every_case_in_a_crowd(name: str) -> None:
    case = FOLLOWED[name]
    packets = crowd(9, 1_500, hosts=40, seconds=400, back_seconds=25)
    calls = run(plan(case), Tuning(disorder_bytes=4_000), packets, case.input)
    follow(calls, [case.input], "q", Gone(case))


# ---- silence ----


def answered(
    case: Case, packets: list[Packet], folder: Path, **limits: int
) -> tuple[list[Row], OperatorStatistics]:
    """The rows, and what the operator has counted."""
    capture = folder / "some.pcap"
    capture.write_bytes(pcap(packets, magic=NANOSECONDS))
    tuned = replace(Tuning(slots=64, slack_ns=0).settings(), **limits)
    with Session(plan(case), [FileSource("default", str(capture))], tuned) as session:
        found = [event.batch.to_arrow().to_pylist() for event in session.batches()]
        (operator,) = session.statistics().operators
    return [tuple(row.values()) for batch in found for row in batch], operator


def test_a_jump_of_millions_of_windows_costs_what_changes_in_it(tmp_path: Path) -> None:
    """Nothing goes out, so that what stands is looked at four times, not ten million."""
    far = 100_000_000
    packets = [packet(at, source=host) for host in range(5) for at in (0,)] + [packet(far)]
    rows, counters = answered(CASES["never"], packets, tmp_path)
    assert len(rows) == 6
    assert counters.rejected <= 5 * 5
    assert rows[-1][-1] == 2 * rows[0][-1], "the group of before is there still"


def test_of_a_silent_hour_rows_that_are_wanted_come(tmp_path: Path) -> None:
    packets = [packet(0, source=1), packet(3_600, source=2)]
    rows, _ = answered(replace(CASES["never"], having="", keeps=every), packets, tmp_path)
    assert [row[2] for row in rows] == [1, *[0] * 360, 1]
    assert {row[4] for row in rows[4:-2]} == {None}
    first = EPOCH_NS // SECOND_NS // 10
    assert [row[0] - first for row in rows[:-1]] == list(range(361))


FAR = 100_000_000
"""Seconds: two packets that lie, so that the clock is believed."""


def test_of_a_silence_that_a_timestamp_claims_so_many_windows_come(tmp_path: Path) -> None:
    packets = [packet(at, source=host) for host in (1, 2) for at in (0, FAR)]
    case = replace(CASES["never"], having="", keeps=every, options="max_silence 50;")
    rows, counters = answered(case, sorted(packets, key=lambda each: each.timestamp_ns), tmp_path)
    assert len(rows) == 2 * (1 + 50 + 1)
    assert counters.passed_over == FAR // 10 - 1 - 50
    assert [row[-1] for row in rows[-2:]] == [2 * row[-1] for row in rows[:2]], "they go on"


def test_what_moves_has_settled_before_windows_are_passed_over(tmp_path: Path) -> None:
    packets = [packet(0, source=1), packet(200, source=1)]
    case = replace(CASES["never"], having="", keeps=every, options="max_silence 1;")
    rows, counters = answered(case, packets, tmp_path)
    assert [row[2] for row in rows] == [1, 0, 0, 0, 1], "moving_sum(len, 3) is of three windows"
    assert [row[4] is None for row in rows] == [False, False, False, True, False]
    assert counters.passed_over == 19 - 3


def test_a_silence_in_which_nobody_knows_when_a_group_closes_ends(tmp_path: Path) -> None:
    packets = [packet(at, source=1) for at in (0, FAR)]
    case = replace(CASES["by the clock"], having="HAVING tb < 0", closing="tb < 0")
    rows, counters = answered(case, packets, tmp_path)
    assert rows == []
    assert counters.passed_over == FAR // 10 - 1 - 100_000


def test_behind_the_last_window_nothing_comes(tmp_path: Path) -> None:
    rows, counters = answered(CASES["silent"], [packet(0), packet(1)], tmp_path)
    assert len(rows) == 1
    assert counters.held == 0


# ---- max_groups ----


def test_groups_that_stand_count(tmp_path: Path) -> None:
    """Three stand when a window with three others comes: one more can."""
    packets = [packet(at + host / 10, source=host + at) for at in (0, 20) for host in range(3)]
    rows, counters = answered(CASES["never"], packets, tmp_path, max_groups=4)
    assert len(rows) == 4
    assert counters.groups_refused == 2


def test_windows_that_lack_rows_are_marked_and_all_as_long_as_a_group_stands() -> None:
    """A group of the crowded window has lost none, but nobody knows which ones have."""
    crowded = [packet(23 + host / 100, source=host) for host in range(5)]
    packets = [packet(1, source=7), *crowded, packet(44, source=1), packet(200, source=9)]
    plain = Tuning(policy="immediate", slots=64, slack_ns=0).settings()
    limited = replace(plain, max_groups=4)
    calls = run_steps(plan(CASES["tens"]), [("default", pcap(packets, magic=NANOSECONDS))], limited)
    outs = [out for call in calls for out in call.outs if out.rows and out.node == "q"]
    first = EPOCH_NS // SECOND_NS // 10
    marks = {row[0] // 10 - first: out.is_partial for out in outs for row in out.rows}
    assert marks[0] is False
    assert marks[2] is marks[3] is marks[4] is True
    assert marks[20] is False, "all groups of before are gone"
