# SPDX-License-Identifier: Apache-2.0
"""Joint bounds through the operators: what batches that bring one make due, and say in turn.

What a joint bound says of two columns comes from joins; here it is pushed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gigastream.engine.batch import EngineError
from gigastream.plan import Plan
from gigastream.punctuation import JointBound
from gigastream.query_texts import QueryTexts, inline_queries
from gigastream.sessions.high_session import HighSession
from gigastream.sessions.spool_session import SpoolSession
from gigastream.settings import Settings
from gigastream.spool import Spool, SpoolSettings, SpoolWriter, StoredQuerySet
from gigastream.spool.plan import plan_to_json, queries_to_json, stream_descriptions
from tests.engine.high_level import Aggregated, Direct, Follower, Ordered, follow
from tests.engine.stepping import INFINITE, NOTHING, Call, Out, Row, out_of, plan_of
from tests.engine.test_hfta import ADD, FOLDER, SAME
from tests.models.bounds import Column
from tests.models.hfta import Aggregate, Greatest, OrderLimit, Select, Union
from tests.models.order import OrderKey

PORTS = ("east", "west")
CLOCKS = (0, 1)
"""The stream's temporal columns."""
SCHEMA = pyarrow.schema(
    [
        pyarrow.field("time", pyarrow.uint32(), nullable=False),
        pyarrow.field("time_ms", pyarrow.int64(), nullable=False),
        pyarrow.field("srcIP", pyarrow.uint32(), nullable=False),
        pyarrow.field("len", pyarrow.uint32(), nullable=False),
    ]
)


QUERIES = (FOLDER / "two_clocks.gsql").read_text(encoding="utf-8")


@cache
def plan() -> Plan:
    return plan_of(QUERIES, PORTS)


class Promises:
    """What a stream has promised so far; rows that break it are left out."""

    def __init__(self) -> None:
        self.bounds = [NOTHING, NOTHING]
        self.joint: JointBound | None = None

    def allows(self, row: Row) -> bool:
        below = [value < bound for value, bound in zip(row, self.bounds, strict=False)]
        if self.joint is None:
            return not any(below)
        pairs = zip(row, self.joint.bounds, strict=False)
        return not any(below) and not all(value < bound for value, bound in pairs)

    def grow(self, bounds: Sequence[int], joint: tuple[int, int] | None) -> None:
        self.bounds = [max(pair) for pair in zip(self.bounds, bounds, strict=True)]
        if joint is not None:
            before = self.joint.bounds if self.joint is not None else joint
            first, second = (max(pair) for pair in zip(before, joint, strict=True))
            self.joint = JointBound((0, 1), (first, second))


seconds, thousandths = st.integers(0, 40), st.integers(-20, 40)
rows = st.tuples(seconds, thousandths, st.integers(1, 3), st.integers(1, 5))
steps = st.tuples(
    st.sampled_from(PORTS),
    st.lists(rows, max_size=4),
    st.tuples(st.just(NOTHING) | seconds, st.just(NOTHING) | thousandths),
    st.none() | st.tuples(seconds, thousandths),
    st.booleans(),
)
Step = tuple[str, list[Row], tuple[int, int], tuple[int, int] | None, bool]


def pushed(stream: Sequence[Step]) -> list[Out]:
    """Batches of both ports that keep what they promise, and their ends."""
    promises = {port: Promises() for port in PORTS}
    found: list[Out] = []
    for port, wanted, bounds, joint, is_heartbeat in stream:
        promise = promises[port]
        kept = tuple(row for row in wanted if promise.allows(row))
        promise.grow(bounds, joint)
        columns = (*promise.bounds, NOTHING, NOTHING)
        number = sum(out.node == port for out in found)
        out = Out(port, kept, columns, is_heartbeat, False, False, number, promise.joint)
        found.append(out)
    for port in PORTS:
        number = sum(out.node == port for out in found)
        ended = (INFINITE, INFINITE, NOTHING, NOTHING)
        found.append(Out(port, (), ended, False, True, False, number, promises[port].joint))
    return found


def rows_of(out: Out) -> pyarrow.RecordBatch | None:
    arrays = [
        pyarrow.array([row[at] for row in out.rows], field.type) for at, field in enumerate(SCHEMA)
    ]
    return pyarrow.record_batch(arrays, schema=SCHEMA) if out.rows else None


def push(session: HighSession, out: Out) -> None:
    flags = {"is_heartbeat": out.is_heartbeat, "is_end": out.is_end}
    session.push("clocks", out.node, rows_of(out), out.bounds, joint=out.joint, **flags)


def run(stream: Sequence[Step], batch_rows: int | None) -> list[Call]:
    """Batch after batch with all that it makes due."""
    set_up = Settings(output_punctuation=True, batch_rows=batch_rows, deliver_every_burst=True)
    taps, calls = ("clocks", "top_groups"), []
    with HighSession(plan(), PORTS, set_up, taps=taps) as session:
        for out in pushed(stream):
            push(session, out)
            outs = [out_of(event.query, event.batch) for event in session.batches()]
            calls.append(Call(0, 1, (out, *outs)))
    return calls


def union() -> Follower:
    return Direct(Union(2, 2), CLOCKS, CLOCKS)


def selected() -> Follower:
    def row(of: Row) -> Row | None:
        time, ms, _, length = of
        return (max(time, ms), ms - 5, time // 10, length) if length > 2 else None

    earlier, tens = Column(lambda ms: ms - 5), Column(lambda time: time // 10)
    return Direct(Select(row, [Greatest(0, 1), (1, earlier), (0, tens)]), CLOCKS, (0, 1, 2))


def one() -> Follower:
    return Direct(Select(lambda of: (of[0], of[3]), [(0, SAME)]), CLOCKS, (0,))


def grouped() -> Follower:
    def state(of: Row) -> Row:
        time, ms, address, length = of
        fives = ms // 5 if ms >= 0 else -(-ms // 5)
        return (time // 10, fives), (address,), (1, length)

    tens = Column(lambda time: time // 10)
    fives = Column(lambda ms: ms // 5 if ms >= 0 else -(-ms // 5))
    model = Aggregate([(0, tens), (1, fives)], ADD)
    return Aggregated(model, state, CLOCKS, CLOCKS)


def top() -> Follower:
    model = OrderLimit(CLOCKS, [OrderKey(3, descending=True), OrderKey(2)], limit=2)
    return Ordered(model, width=2)


OPERATORS: dict[str, tuple[Sequence[str], str, Callable[[], Follower]]] = {
    "union": (PORTS, "clocks", union),
    "select": (["clocks"], "selected", selected),
    "select one clock": (["clocks"], "one", one),
    "aggregate": (["clocks"], "grouped", grouped),
    "order": (["top_groups"], "top", top),
}


@pytest.mark.long
@settings(max_examples=150)
@given(stream=st.lists(steps, max_size=14), batch_rows=st.sampled_from([1, 2, None]))
def test_every_operator(stream: list[Step], batch_rows: int | None) -> None:
    calls = run(stream, batch_rows)
    for inputs, output, follower in OPERATORS.values():
        follow(calls, inputs, output, follower())


def joints(calls: Sequence[Call], node: str) -> list[JointBound | None]:
    return [out.joint for call in calls for out in call.outs if out.node == node]


def both(rows: list[Row], joint: tuple[int, int] | None) -> list[Step]:
    """The same promise on both ports."""
    nothing = (NOTHING, NOTHING)
    return [("east", rows, nothing, joint, False), ("west", [], nothing, joint, False)]


def test_a_group_leaves_that_no_bound_of_one_column_has_passed() -> None:
    calls = run([*both([(9, 4, 1, 1), (19, 4, 1, 1)], None), *both([], (10, 5))], None)
    early = [out.rows for call in calls[:4] for out in call.outs if out.node == "grouped"]
    assert [row for found in early for row in found] == [(0, 0, 1, 1, 1)]
    assert joints(calls[:4], "grouped")[-1] == JointBound((0, 1), (1, 1))


def test_a_joint_bound_passes_limit_until_the_end() -> None:
    calls = run(both([(30, 30, 1, 1)], (10, 5)), None)
    assert joints(calls, "first")[-1] == JointBound((0, 1), (10, 5))


@pytest.mark.parametrize("columns", [(1, 0), (0, 0), (0, 2), (1, 9)])
def test_what_is_no_joint_bound(columns: tuple[int, int]) -> None:
    with HighSession(plan(), PORTS, Settings()) as session:
        joint = JointBound(columns, (1, 1))
        with pytest.raises(EngineError, match="two temporal columns"):
            session.push("clocks", "east", None, [NOTHING] * 4, joint=joint)


@pytest.mark.parametrize(("columns", "bounds"), [((0, 1), (5,)), ((0,), (5, 5)), ((0, 1), ())])
def test_a_joint_bound_has_two_of_each(columns: tuple[int, int], bounds: tuple[int, int]) -> None:
    """One that is missing is not 0."""
    with HighSession(plan(), PORTS, Settings()) as session:
        joint = JointBound(columns, bounds)
        with pytest.raises(ValueError, match="unpack"):
            session.push("clocks", "east", None, [NOTHING] * 4, joint=joint)


def test_a_spool_brings_joint_bounds(tmp_path: Path) -> None:
    """What a writer was told of two clocks makes groups due above, before the stream's end."""
    texts = QueryTexts(inline_queries((QUERIES,)), interfaces={name: {} for name in PORTS})
    stored = StoredQuerySet(
        plan_to_json(plan()), queries_to_json(texts), stream_descriptions(plan())
    )
    rows = {"east": [(5, 4, 1, 1), (19, 4, 1, 1)], "west": [(30, 30, 1, 1)]}
    promised = (NOTHING, NOTHING), (10, 5), False
    outs = pushed([(port, rows[port], *promised) for port in PORTS])
    with SpoolWriter(tmp_path, SpoolSettings()) as writer:
        tracks = writer.open(stored, [("clocks", port) for port in PORTS], ())
        for out in outs:
            track = tracks["clocks", out.node]
            track.write(rows_of(out), out.bounds, NOTHING, 0, joint=out.joint, is_end=out.is_end)
    with SpoolSession([Spool(tmp_path)], plan(), [PORTS], Settings()) as session:
        found = [event.batch for event in session.batches() if event.query == "grouped"]
    assert [batch.joint for batch in found][:1] == [JointBound((0, 1), (1, 1))]
