# SPDX-License-Identifier: Apache-2.0
"""The levels apart: what the LFTAs put out, pushed into a high level alone, gives the answer."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pyarrow
import pytest

from gigastream.engine.batch import EngineError
from gigastream.flush_policy import FLUSH_POLICIES
from gigastream.gsql.order.bounds import NONE
from gigastream.plan.nodes import topological
from gigastream.sessions.high_session import HighSession
from gigastream.settings import Settings
from tests.engine.stepping import INFINITE, NOTHING, plan_of
from tests.engine.whole_and_parts import (
    GOLDEN_INPUTS,
    Inputs,
    Piece,
    pieces_above,
    plan_of_all,
    run_high,
    run_low,
    run_whole,
)

KEY = (3, 5)
"""Of the group hash: with the same one, groups leave in the same order."""
BATCH_ROWS = (None, 1, 7)
_LARGEST = (("default", "mixture"),)
"""Compiled anew by each test, for most of a minute; its queries come apart once, and in a spool."""
by_inputs = pytest.mark.parametrize(
    "inputs",
    [
        pytest.param(each, marks=pytest.mark.slow if each == _LARGEST else ())
        for each in GOLDEN_INPUTS
    ],
    ids=str,
)


def _ways() -> Iterator[Any]:
    """Each input under one policy, in batches of one size, by default; in all ways when asked."""
    ways = [(policy, rows) for rows in BATCH_ROWS for policy in FLUSH_POLICIES]
    for at, inputs in enumerate(GOLDEN_INPUTS):
        for number, (policy, batch_rows) in enumerate(ways):
            marks = () if number == at % len(ways) else pytest.mark.slow
            name = f"{inputs}-{policy}-{batch_rows or 'default'}"
            yield pytest.param(inputs, policy, batch_rows, id=name, marks=marks)


in_some_ways = pytest.mark.parametrize(("inputs", "policy", "batch_rows"), list(_ways()))


def settings_of(policy: str | None, batch_rows: int | None) -> Settings:
    return Settings(
        flush=policy, batch_rows=batch_rows, slots=64, hash_key=KEY, output_punctuation=True
    )


Told = tuple[tuple[bytes, ...], tuple[int, ...]]


@dataclass
class Shown:
    """The rows of a stream before each bound that is greater, its heartbeats, its end."""

    told: list[Told] = field(default_factory=list)
    heartbeats: int = 0
    is_ended: bool = False
    waiting: list[bytes] = field(default_factory=list)

    def take(self, each: Piece) -> None:
        """The next batch."""
        self.waiting += each.text.splitlines()
        self.heartbeats += each.is_heartbeat
        self.is_ended |= each.is_end
        last = self.told[-1][1] if self.told else (NONE,) * len(each.bounds)
        if each.bounds != last or each.is_end:
            self.told.append((tuple(sorted(self.waiting)), each.bounds))
            self.waiting = []


def shown(pieces: Iterable[Piece]) -> dict[tuple[str, str | None], Shown]:
    """By stream and interface: the rows before each punctuation, and what it says.

    Into how many batches the rows between two are cut, and between which of them a heartbeat that
    says nothing new passes, depends on when somebody looks.
    """
    found = defaultdict[tuple[str, str | None], Shown](Shown)
    for each in pieces:
        found[each.node, each.interface].take(each)
    assert all(stream.is_ended and not stream.waiting for stream in found.values())
    return found


def above_joins(inputs: Inputs) -> set[str]:
    """The queries whose rows and bounds wait for a join's steps, of which none is input's."""
    outputs = plan_of_all(inputs).outputs
    return {o.name for o in outputs if any(n.kind == "Join" for n in topological((o,)))}


def shown_of_answers(
    inputs: Inputs, pieces: Iterable[Piece]
) -> dict[tuple[str, str | None], Shown]:
    """The same of queries; of those above a join all rows at once."""
    found = shown(pieces)
    for (name, _), stream in found.items():
        if name in above_joins(inputs):
            rows = sorted(row for before, _ in stream.told for row in before)
            stream.told = [(tuple(rows), stream.told[-1][1])]
    return found


@pytest.mark.long
@in_some_ways
def test_apart_as_together(inputs: Inputs, policy: str, batch_rows: int | None) -> None:
    """The same rows and the same punctuation, in the same order."""
    settings = settings_of(policy, batch_rows)
    low, whole = run_whole(inputs, settings)
    apart = run_high(inputs, settings, low)
    assert shown_of_answers(inputs, apart) == shown_of_answers(inputs, whole)


@pytest.mark.long
@in_some_ways
def test_the_low_level_does_not_know_what_is_above(
    inputs: Inputs, policy: str, batch_rows: int | None
) -> None:
    settings = settings_of(policy, batch_rows)
    assert shown(run_low(inputs, settings)) == shown(run_whole(inputs, settings)[0])


def rows(pieces: Iterable[Piece]) -> dict[str, list[bytes]]:
    """By query, its rows in any order."""
    found = defaultdict(list)
    for each in pieces:
        found[each.node] += each.text.splitlines()
    return {name: sorted(lines) for name, lines in found.items()}


@pytest.mark.long
@by_inputs
def test_streams_may_come_one_after_the_other(inputs: Inputs) -> None:
    """How far one runs ahead of another is its affair; the answer waits for the last."""
    settings = settings_of(None, None)
    low, whole = run_whole(inputs, settings)
    by_stream = sorted(low, key=lambda each: (each.interface, each.node))
    assert rows(run_high(inputs, settings, by_stream)) == rows(whole)


@pytest.mark.long
@by_inputs
def test_what_comes_back_from_arrow_is_the_same(inputs: Inputs) -> None:
    """Rows as the spool has them: sliced, and with buffers of their own."""
    settings = settings_of(None, None)
    low, whole = run_whole(inputs, settings)
    assert rows(run_high(inputs, settings, map(_as_slice, low))) == rows(whole)


def _as_slice(p: Piece) -> Piece:
    thrice = pyarrow.Table.from_batches([p.rows] * 3).combine_chunks().to_batches()
    both = thrice[0] if thrice else p.rows
    middle = both.slice(p.rows.num_rows, p.rows.num_rows)
    return Piece(p.node, p.interface, middle, p.text, p.bounds, p.is_heartbeat, p.is_end)


# Two interfaces, by hand

COUNTS = "SELECT tb, count(*) AS packets FROM IPV4 GROUP BY time/10 AS tb"
PLAN = plan_of(COUNTS, ("east", "west"))
SETTINGS = Settings(output_punctuation=True)
SCHEMA = pyarrow.schema(
    [
        pyarrow.field("tb", pyarrow.uint32(), nullable=False),
        pyarrow.field("count0", pyarrow.uint64(), nullable=False),
    ]
)


def counts(*pairs: tuple[int, int]) -> pyarrow.RecordBatch:
    columns = zip(*pairs, strict=True)
    arrays = [pyarrow.array(c, f.type) for c, f in zip(columns, SCHEMA, strict=True)]
    return pyarrow.record_batch(arrays, schema=SCHEMA)


@pytest.fixture
def high() -> HighSession:
    return HighSession(PLAN, ("east", "west"), SETTINGS)


def texts(high: HighSession) -> list[tuple[bytes, int]]:
    return [(event.batch.csv(), event.batch.bounds[0]) for event in high.batches()]


def test_a_window_waits_for_every_interface(high: HighSession) -> None:
    assert sorted(high.ports) == [("query_low", "east"), ("query_low", "west")]
    high.push("query_low", "east", counts((1, 5), (2, 7)), (2, NOTHING))
    assert texts(high) == []
    high.push("query_low", "west", None, (3, NOTHING))
    assert texts(high) == [(b"", 1), (b"1,5\n", 2)]
    high.push("query_low", "west", None, (NOTHING, NOTHING), is_end=True)
    assert texts(high) == []
    high.push("query_low", "east", counts((2, 1)), (INFINITE, NOTHING), is_end=True)
    assert texts(high) == [(b"2,8\n", INFINITE)]
    assert [(o.name, o.rows_in, o.rows_out) for o in high.statistics().operators] == [
        ("query", 3, 2)
    ]


def test_a_heartbeat_says_what_is_known_already(high: HighSession) -> None:
    high.push("query_low", "east", None, (4, NOTHING), is_heartbeat=True)
    high.push("query_low", "west", None, (NOTHING, NOTHING), is_heartbeat=True)
    assert [event.batch.is_heartbeat for event in high.batches()] == [True, True]


def test_what_cannot_be_pushed(high: HighSession) -> None:
    other = counts((1, 1)).rename_columns(["tb", "count1"])
    with pytest.raises(EngineError, match="column count1 instead of count0"):
        high.push("query_low", "east", other, (NOTHING, NOTHING))
    with pytest.raises(KeyError):
        high.push("query_low", "north", None, (NOTHING, NOTHING))
    high.push("query_low", "east", None, (INFINITE, NOTHING), is_end=True)
    with pytest.raises(EngineError, match="goes on after its end"):
        high.push("query_low", "east", counts((1, 1)), (NOTHING, NOTHING))
    high.push("query_low", "west", counts((1, 2)), (INFINITE, NOTHING), is_end=True)
    assert texts(high) == [(b"", 1), (b"1,2\n", INFINITE)]


def test_rows_below_a_bound_are_not_answered_twice() -> None:
    """A stream that breaks its own promise harms nothing but its own rows."""
    promised = ((1, 5), (2, 5), (6, INFINITE))
    broken = [
        Piece("query_low", "default", counts((tb, 1)), b"", (b, NOTHING), False, b == INFINITE)
        for tb, b in promised
    ]
    plan = plan_of(COUNTS)
    given = b"".join(p.text for p in pieces_above(plan, ("default",), Settings(), broken))
    assert given == b"1,1\n6,1\n"
