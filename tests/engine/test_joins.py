# SPDX-License-Identifier: Apache-2.0
"""Joins by the model: rows, what is held and punctuation after every batch, whatever comes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gigastream.plan import Plan
from gigastream.sessions.high_session import HighSession
from tests.engine.joins import (
    NULLABLE,
    TEMPORAL,
    Case,
    Checker,
    KeyText,
    PairText,
    Pushed,
    TimeText,
    plain_key,
    plain_time,
    push,
    time_of,
    told_all,
)
from tests.engine.stepping import NOTHING, Row
from tests.models.join import NoValueError

LEFT, RIGHT, FULL = (True, False), (False, True), (True, True)


def tens(side: str, column: str = "t") -> TimeText:
    def tenth(value: int) -> int:
        return value // 10 if value >= 0 else -(-value // 10)

    return TimeText(f"{side}_{column}/10", time_of(column, tenth))


def quotient(first: Row, second: Row) -> bool | None:
    """100 / a_port > b_port."""
    if first[3] == 0:
        raise NoValueError
    return None if None in (first[3], second[3]) else 100 // first[3] > second[3]


def doubled(row: Row) -> object:
    return None if row[3] is None else row[3] * 2


CASES = {
    "equality": Case((plain_time("t"),), gives_joint=True),
    "equality of keys too": Case((plain_time("t"),), (plain_key("port"),), keeps=LEFT),
    "the present side's": Case((plain_time("t"),), (plain_key("ip"),), keeps=FULL, shared="t"),
    "shared by an inner join": Case((plain_time("t"),), shared="t"),
    "shared, right": Case((plain_time("t"),), (plain_key("word"),), keeps=RIGHT, shared="t"),
    "full": Case((plain_time("t"),), (plain_key("word"),), keeps=FULL),
    "buckets": Case((PairText((tens("a"), tens("b"))),), (plain_key("ip"),), keeps=LEFT),
    "bucket of one side": Case(
        (PairText((tens("a", "u"), TimeText("b_t", time_of("t"))), (1, 1)),), gives_joint=True
    ),
    "band": Case((plain_time("t", (3, 2)),), gives_joint=True),
    "band of strings": Case((plain_time("t", (3, 2)),), (plain_key("word"),), keeps=LEFT),
    "band of addresses": Case((plain_time("u", (0, 7)),), (plain_key("ip"),), keeps=RIGHT),
    "all behind": Case((plain_time("u", (8, -3)),), (plain_key("port"),), keeps=FULL),
    "all ahead": Case((plain_time("u", (-2, 6)),), keeps=LEFT),
    "nothing is within": Case((plain_time("u", (2, -3)),), keeps=LEFT),
    "falling": Case((plain_time("d", (4, 1)),), gives_joint=True, keeps=(False, False)),
    "falling, equal": Case((plain_time("d"),), (plain_key("port"),), keeps=LEFT),
    "two equal": Case((plain_time("t"), plain_time("u")), keeps=LEFT),
    "equal within a band": Case((plain_time("t", (5, 5)), plain_time("u")), keeps=RIGHT),
    "two bands": Case((plain_time("t", (5, 5)), plain_time("d", (3, 3))), keeps=FULL),
    "two of one column": Case(
        (plain_time("t", (5, 5)), PairText((tens("a"), tens("b")))), (plain_key("port"),)
    ),
    "residual": Case(
        (plain_time("t", (5, 5)),),
        residual="100 / a_port > b_port",
        residual_of=quotient,
        keeps=LEFT,
    ),
    "key of an expression": Case(
        (plain_time("t", (5, 5)),),
        (KeyText(("a_port * 2", "b_port * 2"), (doubled, doubled)),),
        keeps=FULL,
    ),
    "times that are NULL": Case(
        (plain_time("t", (2, 2)),), keeps=LEFT, nullable=("t", "d", *NULLABLE)
    ),
    "at most so many": Case((plain_time("t", (9, 9)),), (plain_key("port"),), max_rows=3),
    "at most so many, kept": Case((plain_time("t", (9, 9)),), keeps=LEFT, max_rows=3),
    "of itself": Case((plain_time("t", (3, 2)),), (plain_key("port"),), is_of_itself=True),
    "of itself, kept": Case((plain_time("t", (3, -1)),), keeps=FULL, is_of_itself=True),
    "few columns": Case(
        (plain_time("t", (3, 2)),), keeps=LEFT, left_out=("a_t", "b_word", "a_ip", "b_port")
    ),
}


@cache
def plan(name: str) -> Plan:
    return CASES[name].plan()


clocks = st.integers(0, 30)
rows = st.tuples(
    clocks,
    st.integers(-10, 30),
    st.integers(-30, 10),
    st.none() | st.integers(0, 3),
    st.sampled_from([b"", b"x", b"a longer one than that"]),
    st.none() | st.sampled_from([bytes(16), bytes(10) + b"\xff\xff\x01\x02\x03\x04"]),
)
promises = st.tuples(
    st.just(NOTHING) | clocks,
    st.just(NOTHING) | st.integers(-10, 30),
    st.just(NOTHING) | st.integers(-30, 10),
)
fails = st.sampled_from([0, 0, 1])
steps = st.lists(
    st.tuples(st.integers(0, 1), st.lists(rows, max_size=6), promises, fails), max_size=14
)
Step = tuple[int, list[Row], tuple[int, ...], int]


def kept_promises(wanted: Sequence[Step]) -> list[Pushed]:
    """Batches without the rows that break what was promised before them.

    From the first failure on they are heartbeats, which a union hands on in any case.
    """
    promised = [[NOTHING] * TEMPORAL, [NOTHING] * TEMPORAL]
    found = []
    has_failed = False
    for port, candidates, bounds, missing in wanted:
        before = promised[port]
        kept = [row for row in candidates if all(v >= b for v, b in zip(row, before, strict=False))]
        promised[port] = [max(pair) for pair in zip(before, bounds, strict=True)]
        has_failed |= bool(missing)
        told = tuple(promised[port])
        found.append(Pushed(port, tuple(kept), told, missing=missing, is_heartbeat=has_failed))
    return found


def with_nulls(case: Case, batch: Pushed) -> Pushed:
    """NULL where the case lets a time be NULL, in place of some values, and nowhere else."""
    if "t" not in case.nullable:
        return batch
    changed = [(None if row[0] % 5 == 0 else row[0], row[1], None if row[2] % 3 == 0 else row[2])
               for row in batch.rows]  # fmt: skip
    whole = tuple((*new, *row[3:]) for new, row in zip(changed, batch.rows, strict=True))
    return replace(batch, rows=whole)


def run(name: str, batches: Sequence[Pushed], ends: Sequence[int], batch_rows: int | None) -> None:
    """Every batch by the model, to the end of both inputs."""
    case = CASES[name]
    checker = Checker(case)
    ended = [Pushed(port, (), (NOTHING,) * TEMPORAL, is_end=True) for port in ends]
    with HighSession(plan(name), ("default",), told_all(batch_rows)) as session:
        for batch in (*batches, *ended):
            if case.is_of_itself and batch.is_end and batch.port == 1:
                continue
            told = with_nulls(case, batch)
            checker.check(told, push(session, case, told))
            (operator,) = session.statistics().operators
            model = checker.model
            assert operator.held == model.held
            assert operator.rows_refused == model.refused
            assert operator.no_value == model.no_value
        assert operator.held == 0
        assert operator.refused_for_memory == 0


@pytest.mark.parametrize("name", CASES)
@settings(max_examples=25)
@given(stream=steps, ends=st.permutations([0, 1]), batch_rows=st.sampled_from([None, 1, 3]))
def test_a_join_is_what_the_model_says(
    name: str,
    stream: list[Step],
    ends: list[int],
    batch_rows: int | None,
) -> None:
    if CASES[name].is_of_itself:
        stream = [(0, *rest) for _, *rest in stream]
    run(name, kept_promises(stream), ends, batch_rows)
