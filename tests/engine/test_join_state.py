# SPDX-License-Identifier: Apache-2.0
"""What a join holds: much of it, what it asks for, how it lets go, and what it has no room for."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

import pytest

from gigastream.engine._native import lib
from gigastream.plan import Plan
from gigastream.sessions.high_session import HighSession
from gigastream.settings import LEAST_MEMORY
from tests.engine.joins import (
    TEMPORAL,
    Case,
    Checker,
    Pushed,
    plain_key,
    plain_time,
    push,
    told_all,
)
from tests.engine.stepping import NOTHING, Row
from tests.engine.test_joins import CASES, LEFT, plan
from tests.engine.test_requests import MILLISECOND, SECOND, ask, wanted

SILENT = (NOTHING,) * TEMPORAL
KIB = 1 << 10


def rows(count: int, seed: int, times: int) -> Iterator[Row]:
    """Of `times` seconds, nearly in order, some far ahead."""
    draw = random.Random(seed)
    for at in range(count):
        time = at * times // count
        now = time + draw.choice((0, 0, 0, 0, 1, 3, 200))
        word, port = draw.choice((b"", b"word", b"another word")), draw.choice((None, *range(9)))
        yield (now, time + draw.randint(0, 4), time + draw.randint(0, 4), port, word, bytes(16))


def in_turns(count: int, times: int, batch: int) -> Iterator[Pushed]:
    """Batches of both inputs by turns; the second promises less. No clock is behind the first."""
    sides = [list(rows(count, seed, times)) for seed in (1, 2)]
    for at in range(0, count, batch):
        for port, side in enumerate(sides):
            promised = (at + batch) * times // count - 3 * port
            yield Pushed(port, tuple(side[at : at + batch]), (promised,) * TEMPORAL)
    for port in (0, 1):
        yield Pushed(port, (), SILENT, is_end=True)


@pytest.mark.long
@pytest.mark.parametrize("name", ["band of strings", "two bands", "equality of keys too", "full"])
def test_a_long_stream_is_what_the_model_says(name: str) -> None:
    """Chains, orders and pages grow, and shrink again; orders of several pairs are swept."""
    case = CASES[name]
    checker = Checker(case)
    with HighSession(plan(name), ("default",), told_all()) as session:
        for batch in in_turns(900, 60, 90):
            checker.check(batch, push(session, case, batch))
            (operator,) = session.statistics().operators
            assert operator.held == checker.model.held
        assert operator.held_bytes < 16 * KIB < operator.peak_bytes


def held_bytes(session: HighSession) -> int:
    (operator,) = session.statistics().operators
    return operator.held_bytes


def test_what_is_let_go_is_given_back() -> None:
    """By the other input's promises alone, long before the end."""
    case = CASES["band of strings"]
    with HighSession(plan("band of strings"), ("default",), told_all()) as session:
        empty = held_bytes(session)
        many = tuple((at // 100, 0, 0, at % 7, b"word", None) for at in range(20_000))
        push(session, case, Pushed(0, many, SILENT))
        full = held_bytes(session)
        assert full > len(many) * 100
        push(session, case, Pushed(1, (), (180, NOTHING, NOTHING)))
        assert held_bytes(session) < full * 0.4
        push(session, case, Pushed(1, (), (1000, NOTHING, NOTHING)))
        assert held_bytes(session) < empty + 16 * KIB


def test_chains_wait_for_the_next_of_a_stream_that_goes_on() -> None:
    """Rows that came since the last promise may come again; with a promise and no row they go."""
    case = CASES["band of strings"]
    with HighSession(plan("band of strings"), ("default",), told_all()) as session:
        empty = held_bytes(session)
        many = tuple((at // 100, 0, 0, at % 7, b"word", None) for at in range(20_000))
        push(session, case, Pushed(0, many, SILENT))
        push(session, case, Pushed(1, (), (1000, NOTHING, NOTHING)))
        (operator,) = session.statistics().operators
        assert operator.held == 0
        assert held_bytes(session) > empty + 8 * len(many)
        push(session, case, Pushed(1, (), (1001, NOTHING, NOTHING)))
        assert held_bytes(session) < empty + 16 * KIB


def test_rows_that_leave_alone_leave_a_batch_at_a_time() -> None:
    """And the bound goes with them: it waits for those that are not out, and for no others."""
    case = CASES["few columns"]
    name = [column.name for column in case.places].index("a_u")
    alone = tuple((at, at, 0, 1, b"", None) for at in range(40))
    with HighSession(plan("few columns"), ("default",), told_all(batch_rows=8)) as session:
        push(session, case, Pushed(0, alone, (40, 40, NOTHING)))
        outs = push(session, case, Pushed(1, (), (60, NOTHING, NOTHING)))
    assert [len(out.rows) for out in outs if out.rows] == [8] * 5
    assert [out.bounds[name] for out in outs if out.rows] == [8, 16, 24, 32, 40]


@pytest.mark.parametrize("keeps", [(False, False), LEFT])
def test_rows_beyond_the_memory_are_counted(keeps: tuple[bool, bool]) -> None:
    """What is held is what was let in; the others met what was there, and are lost then."""
    case = Case((plain_time("t", (9, 9)),), (plain_key("port"),), keeps=keeps)
    many = tuple((5, 0, 0, at % 7, b"word" * 100, None) for at in range(4_000))
    settings = replace(told_all(), memory_bytes=LEAST_MEMORY)
    with HighSession(case.plan(), ("default",), settings) as session:
        for _ in range(3):
            push(session, case, Pushed(0, many, SILENT))
        (operator,) = session.statistics().operators
        assert 0 < operator.rows_refused == operator.refused_for_memory
        assert operator.held + operator.rows_refused == operator.rows_in == 3 * len(many)
        assert operator.held_bytes <= LEAST_MEMORY
        for port in (0, 1):
            push(session, case, Pushed(port, (), SILENT, is_end=True))
        (operator,) = session.statistics().operators
        assert operator.held == 0
        assert operator.rows_out == (operator.rows_in - operator.rows_refused if keeps[0] else 0)


def column(of: Plan, name: str) -> int:
    (node,) = (node for node in of.nodes if node.name == "joined" and not node.is_output)
    return [column.name for column in node.schema.columns].index(name)


@pytest.mark.parametrize(
    ("name", "wants", "value", "expected"),
    [
        ("band", "a_t", 7, [7 * SECOND, 10 * SECOND]),
        ("band", "b_t", 7, [9 * SECOND, 7 * SECOND]),
        ("buckets", "a_t", 17, [17 * SECOND, 20 * SECOND]),
        ("bucket of one side", "b_t", 17, [180 * MILLISECOND, 17 * SECOND]),
        ("shared, right", "t", 7, [7 * SECOND, 7 * SECOND]),
        ("few columns", "a_u", 7, [7 * MILLISECOND, NOTHING]),
        ("few columns", "b_t", 7, [NOTHING, NOTHING]),
    ],
)
def test_both_inputs_are_asked(name: str, wants: str, value: int, expected: list[int]) -> None:
    """The input for the bound itself, the other one for what lets its rows go."""
    of = plan(name)
    with HighSession(of, ("default",), told_all()) as session:
        ask(session._queries, of, "joined", column(of, wants), value)
        assert [time for time, _ in wanted(session)] == expected


def test_a_row_that_holds_a_column_back_is_asked_for() -> None:
    """By the time that lets it go."""
    case, of = CASES["few columns"], plan("few columns")
    with HighSession(of, ("default",), told_all()) as session:
        push(session, case, Pushed(0, ((20, 5, 0, 1, b"", None),), (20, 6, NOTHING)))
        ask(session._queries, of, "joined", column(of, "a_u"), 6)
        assert [time for time, _ in wanted(session)] == [NOTHING, 24 * SECOND]
        lib.gs_attached_ask(session._queries.native, 2, column(of, "a_u"), 2**63 - 1)
        assert [time for time, _ in wanted(session)] == [NOTHING, 24 * SECOND]
