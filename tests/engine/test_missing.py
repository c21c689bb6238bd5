# SPDX-License-Identifier: Apache-2.0
"""Rows that leave after the punctuation that lets them go say whose rows are missing, too."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow
import pytest

from gigastream.arrow_schema import arrow_schema
from gigastream.gsql.types import Schema
from gigastream.sessions.high_session import HighSession
from tests.engine.joins import TEMPORAL, Case, Pushed, plain_time, told_all
from tests.engine.joins import push as push_join
from tests.engine.stepping import NOTHING, Out, Row, out_of, plan_of
from tests.engine.test_ordered import STREAMS, bare_plan, push, set_up, sorted_plan

by_size = pytest.mark.parametrize("batch_rows", [None, 1])
Marks = dict[int, int]
"""By the time of a row: interfaces, a bit each."""


def marks(outs: Sequence[Out], column: int = 0) -> Marks:
    return {row[column]: out.missing for out in outs for row in out.rows}


# ---- Sort and Merge ----


def said(port: str, times: Sequence[int], bound: int, *, is_missing: bool = False) -> Out:
    rows = tuple((time, 0, 1, 1) for time in times)
    bounds = (bound, NOTHING, NOTHING, NOTHING)
    return Out(port, rows, bounds, not rows, False, False, 0, None, is_missing)


def answers(session: HighSession, node: str, *said: Out) -> Marks:
    """What comes of all of them, once all that is due is out."""
    for out in said:
        push(session, out)
    outs = [out_of(event.query, event.batch) for event in session.batches()]
    return marks([out for out in outs if out.node == node])


@by_size
def test_a_sort_marks_what_a_bound_lets_go(batch_rows: int | None) -> None:
    """A batch of it at a time, the last when nobody is missing any more."""
    name, taps = "first_sorted", ("first_sorted",)
    with HighSession(sorted_plan(), tuple(STREAMS), set_up(batch_rows), taps=taps) as session:
        assert answers(session, name, said("east", [7, 3, 5, 21, 12], 0)) == {}
        gap = said("east", [], 10, is_missing=True), said("east", [], 10)
        assert answers(session, name, *gap) == {3: 1, 5: 1, 7: 1}
        assert answers(session, name, said("east", [], 20)) == {12: 0}
        assert answers(session, name, said("east", [], 30)) == {21: 0}


@by_size
def test_a_merge_marks_what_waits_for_another(batch_rows: int | None) -> None:
    with HighSession(bare_plan(), tuple(STREAMS), set_up(batch_rows)) as session:
        assert answers(session, "merged", said("north", [], 100)) == {}
        assert answers(session, "merged", said("east", [3, 5, 15, 25], 0)) == {}
        gap = said("west", [], 20, is_missing=True), said("west", [], 20)
        assert answers(session, "merged", *gap) == {3: 2, 5: 2, 15: 2}
        assert answers(session, "merged", said("west", [], 40)) == {25: 0}


def test_a_gap_lasts_until_the_slowest_input_has_passed_it() -> None:
    """West is ahead, and was missing from 10 to 20: all that east brings of that lacks it."""
    with HighSession(bare_plan(), tuple(STREAMS), set_up(None)) as session:
        gap = said("west", [], 20, is_missing=True), said("west", [], 60)
        assert answers(session, "merged", said("north", [], 100), *gap) == {}
        assert answers(session, "merged", said("east", [12], 12)) == {12: 2}
        assert answers(session, "merged", said("east", [15], 15)) == {15: 2}
        assert answers(session, "merged", said("east", [], 30)) == {}
        assert answers(session, "merged", said("east", [33], 40)) == {33: 0}


# ---- Join ----


def row(time: int) -> Row:
    return (time, time, -time, 1, b"", None)


def joined(case: Case, batch_rows: int | None, *told: Sequence[Pushed]) -> list[Marks]:
    """Of all that is pushed at a time, the marks of the rows by the time of their left side."""
    with HighSession(case.plan(), ("default",), told_all(batch_rows)) as session:
        return [marks(push_join(session, case, *batches)) for batches in told]


def of(port: int, times: Sequence[int], bound: int, *, missing: int = 0) -> Pushed:
    bounds = (bound, *(NOTHING,) * (TEMPORAL - 1))
    return Pushed(port, tuple(map(row, times)), bounds, missing=missing, is_heartbeat=True)


KEPT = Case((plain_time("t"),), keeps=(True, False))
NO_TIME = Case((plain_time("t"),), keeps=(True, True))


@by_size
@pytest.mark.parametrize("case", [KEPT, NO_TIME], ids=["left", "full"])
def test_a_join_marks_what_met_nobody(case: Case, batch_rows: int | None) -> None:
    assert joined(
        case,
        batch_rows,
        [of(0, [3, 5, 7, 12, 21], 22)],
        [of(1, [], 10, missing=1), of(1, [], 10)],
        [of(1, [], 20)],
        [of(1, [], 30)],
    ) == [{}, {3: 1, 5: 1, 7: 1}, {12: 0}, {21: 0}]


@pytest.mark.parametrize("case", [KEPT, NO_TIME], ids=["left", "full"])
def test_a_join_marks_what_comes_to_a_gap(case: Case) -> None:
    """The right side is ahead: what would have met its rows is still to come."""
    assert joined(
        case,
        None,
        [of(1, [], 20, missing=1), of(1, [], 60)],
        [of(0, [12], 13)],
        [of(0, [15], 16)],
        [of(0, [], 30)],
        [of(0, [33], 40)],
    ) == [{}, {12: 1}, {15: 1}, {}, {33: 0}]


def test_a_band_reaches_beyond_the_gap() -> None:
    """A row of the left side would have met one up to three seconds before it."""
    assert joined(
        Case((plain_time("t", (0, 3)),), keeps=(True, False)),
        None,
        [of(1, [], 20, missing=1), of(1, [], 60)],
        [of(0, [21], 22)],
        [of(0, [], 23)],
        [of(0, [24], 40)],
    ) == [{}, {21: 1}, {}, {24: 0}]


# ---- Union ----

TENS = "DEFINE { query_name tens; } SELECT tb, count(*) AS n FROM IPV4 GROUP BY time/10 AS tb"


def counted(schema: Schema, tens: Sequence[int]) -> pyarrow.RecordBatch | None:
    """A packet of each window."""
    rows = [(tb, 1) for tb in tens]
    columns = [pyarrow.array(values) for values in zip(*rows, strict=True)]
    table = pyarrow.table(columns, names=arrow_schema(schema).names) if rows else None
    return table and table.cast(arrow_schema(schema)).to_batches()[0]


def test_a_union_whose_inputs_differ_marks_the_window_of_the_gap() -> None:
    """West's groups left at once, east's drip: the bound of both passes the gap after west's."""
    plan = plan_of(TENS, ("east", "west"))
    (low,) = plan.low
    found: Marks = {}
    with HighSession(plan, ("east", "west"), set_up(None)) as session:

        def say(port: str, tens: Sequence[int], bound: int, *, is_missing: bool = False) -> None:
            bounds = [bound, NOTHING]
            flags = {"is_heartbeat": True, "is_missing": is_missing}
            session.push(low.name, port, counted(low.schema, tens), bounds, **flags)
            found.update(marks([out_of(e.query, e.batch) for e in session.batches()]))

        say("west", [0], 1)
        say("west", [], 3, is_missing=True)
        say("west", [3, 4], 5)
        for tb in range(5):
            say("east", [tb], tb + 1)
    assert found == {0: 2, 1: 2, 2: 2, 3: 0, 4: 0}
