# SPDX-License-Identifier: Apache-2.0
"""Sort and Merge: rows and punctuation after every batch equal the models'."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache

import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gigastream.plan import Plan
from gigastream.plan.operators.merge import Merge as MergeNode
from gigastream.punctuation import JointBound
from gigastream.sessions.high_session import HighSession
from gigastream.settings import Settings
from tests.engine.high_level import follow
from tests.engine.ordered import Waits
from tests.engine.stepping import INFINITE, NOTHING, Call, Out, Row, out_of, plan_of
from tests.engine.test_hfta import FOLDER
from tests.engine.test_requests import SECOND, ask, wanted
from tests.models.ordered import Merge, Ordered, Sort

STREAMS = {"east": "first", "west": "second", "north": "third"}
CLOCKS = (0, 1)
SCHEMA = pyarrow.schema(
    [
        pyarrow.field("time", pyarrow.uint32(), nullable=False),
        pyarrow.field("time_ms", pyarrow.int64(), nullable=False),
        pyarrow.field("srcIP", pyarrow.uint32(), nullable=False),
        pyarrow.field("len", pyarrow.uint32(), nullable=False),
    ]
)
TAPS = ("first", "second", "third", "falling", "sinking", "falling_sorted", "sinking_sorted")
SORTS = ("first_sorted", "second_sorted", "third_sorted")
QUERIES = (FOLDER / "merged.gsql").read_text(encoding="utf-8")


@cache
def sorted_plan() -> Plan:
    return plan_of(QUERIES, tuple(STREAMS))


@cache
def beyond_plan() -> Plan:
    text = (FOLDER / "beyond.gsql").read_text(encoding="utf-8")
    return plan_of(text, tuple(STREAMS), is_finite=True)


@cache
def bare_plan() -> Plan:
    """The merges read streams that are only progressing: what steps back is theirs to drop."""
    made = {}
    for node in sorted_plan().nodes:
        inputs = [made[child.name, child.is_output] for child in node.inputs]
        if isinstance(node, MergeNode):
            inputs = [child.inputs[0] for child in inputs]
        made[node.name, node.is_output] = node.with_inputs(tuple(inputs))
    nodes = [node for key, node in made.items() if not key[0].split("_")[-1].startswith("sorted")]
    kept = [node for node in nodes if "_sorted" not in node.name]
    return replace(sorted_plan(), nodes=tuple(kept))


Step = tuple[str, list[Row], tuple[int, int], tuple[int, int] | None, bool, bool]
seconds, thousandths = st.integers(0, 30), st.integers(-10, 30)
rows = st.tuples(seconds, thousandths, st.integers(1, 3), st.integers(1, 1_000))
steps = st.tuples(
    st.sampled_from(tuple(STREAMS)),
    st.lists(rows, max_size=5),
    st.tuples(st.just(NOTHING) | seconds, st.just(NOTHING) | thousandths),
    st.none() | st.tuples(seconds, thousandths),
    st.booleans(),
    st.sampled_from([False, False, True]),
)


def batches(stream: Sequence[Step], *, keeps: bool) -> list[Out]:
    """What is pushed; with `keeps` no row is below what its stream has promised.

    From when it has failed for the first time a stream's batches are all heartbeats: a tap shows
    no others that have neither rows nor greater bounds.
    """
    bounds = dict.fromkeys(STREAMS, (NOTHING, NOTHING))
    have_failed = set[str]()
    found = []
    for port, sent, grown, joint, is_heartbeat, is_missing in stream:
        known = bounds[port]
        kept = tuple(
            row
            for row in sent
            if not keeps or all(cell >= bound for cell, bound in zip(row, known, strict=False))
        )
        first, second = (max(pair) for pair in zip(known, grown, strict=True))
        bounds[port] = first, second
        pair = None if joint is None else JointBound((0, 1), joint)
        columns = (first, second, NOTHING, NOTHING)
        have_failed |= {port} if is_missing else set()
        is_told = is_heartbeat or port in have_failed
        found.append(Out(port, kept, columns, is_told, False, False, 0, pair, is_missing))
    ends = (INFINITE, INFINITE, NOTHING, NOTHING)
    return [*found, *(Out(port, (), ends, False, True, False, 0, None) for port in STREAMS)]


def push(session: HighSession, out: Out) -> None:
    arrays = [
        pyarrow.array([row[at] for row in out.rows], field.type) for at, field in enumerate(SCHEMA)
    ]
    table = pyarrow.record_batch(arrays, schema=SCHEMA) if out.rows else None
    flags = {
        "is_heartbeat": out.is_heartbeat,
        "is_end": out.is_end,
        "is_missing": bool(out.missing),
    }
    session.push(STREAMS[out.node], out.node, table, out.bounds, joint=out.joint, **flags)


def run(
    plan: Plan, stream: Sequence[Out], set_up: Settings, taps: Sequence[str]
) -> tuple[list[Call], dict[str, object]]:
    """Batch after batch with all that it makes due; and the operators' counters at the end."""
    calls = []
    with HighSession(plan, tuple(STREAMS), set_up, taps=taps) as session:
        for out in stream:
            push(session, out)
            outs = [out_of(event.query, event.batch) for event in session.batches()]
            calls.append(Call(0, 1, tuple(outs)))
        counters = {operator.name: operator for operator in session.statistics().operators}
    return calls, counters


def set_up(batch_rows: int | None, **more: int) -> Settings:
    return Settings(
        output_punctuation=True, deliver_every_burst=True, batch_rows=batch_rows, **more
    )


BARE: dict[str, tuple[Sequence[str], Callable[[], Waits]]] = {
    "merged": (("first", "second", "third"), lambda: Waits(Merge(3, CLOCKS, 0), CLOCKS)),
    "patient": (("first", "second"), lambda: Waits(Merge(2, CLOCKS, 1, slack=3), CLOCKS)),
    "fallen": (("falling", "sinking"), lambda: Waits(Merge(2, (0,), 0, signs=(-1,)), (0,))),
}
SORTED: dict[str, tuple[Sequence[str], Callable[[], Waits]]] = {
    "first_sorted": (("first",), lambda: Waits(Sort(CLOCKS, 0), CLOCKS)),
    "first_sorted_2": (("first",), lambda: Waits(Sort(CLOCKS, 1), CLOCKS)),
    "falling_sorted": (("falling",), lambda: Waits(Sort((0,), 0, signs=(-1,)), (0,))),
    "merged": (SORTS, lambda: Waits(Merge(3, CLOCKS, 0), CLOCKS)),
}
BEYOND_SORTED = ("rising_sorted", "growing_sorted", "small_sorted")
BEYOND: dict[str, tuple[Sequence[str], Sequence[int], Callable[[], Ordered]]] = {
    "rising_sorted": (("rising",), CLOCKS, lambda: Sort(CLOCKS, 0)),
    "growing_sorted": (("growing",), CLOCKS, lambda: Sort(CLOCKS, 0)),
    "rising_sorted_2": (("rising",), CLOCKS, lambda: Sort(CLOCKS, 1)),
    "merged": (BEYOND_SORTED, CLOCKS, lambda: Merge(3, CLOCKS, 0)),
}
by_size = st.sampled_from([1, 2, None])


@settings(max_examples=50)
@given(stream=st.lists(steps, max_size=16), batch_rows=by_size)
def test_a_merge_of_what_comes_in_any_order(stream: list[Step], batch_rows: int | None) -> None:
    """What is below its own register is dropped and counted; what is not waits for the others."""
    sent = batches(stream, keeps=False)
    calls, counters = run(bare_plan(), sent, set_up(batch_rows), TAPS[:5])
    for name, (inputs, follower) in BARE.items():
        waits = follower()
        follow(calls, inputs, name, waits)
        assert counters[name].out_of_order == waits.model.dropped


@settings(max_examples=50)
@given(stream=st.lists(steps, max_size=16), batch_rows=by_size)
def test_sorts_before_a_merge(stream: list[Step], batch_rows: int | None) -> None:
    sent = batches(stream, keeps=True)
    taps = (*TAPS, *SORTS, "first_sorted_2")
    calls, counters = run(sorted_plan(), sent, set_up(batch_rows), taps)
    for name, (inputs, follower) in SORTED.items():
        waits = follower()
        follow(calls, inputs, name, waits)
        assert counters[name].out_of_order == waits.model.dropped == 0
        assert (counters[name].held, counters[name].held_bytes) == (0, 0)
    sorted_rows = [row for call in calls for o in call.outs if o.node == "merged" for row in o.rows]
    assert [row[0] for row in sorted_rows] == sorted(row[0] for row in sorted_rows)
    assert sorted(sorted_rows) == sorted(row for out in sent for row in out.rows)


@settings(max_examples=30)
@given(stream=st.lists(steps, max_size=16))
def test_a_sort_drops_what_breaks_a_promise(stream: list[Step]) -> None:
    calls, counters = run(sorted_plan(), batches(stream, keeps=False), set_up(None), TAPS)
    waits = Waits(Sort((0,), 0, signs=(-1,)), (0,))
    follow(calls, ("falling",), "falling_sorted", waits)
    assert counters["falling_sorted"].out_of_order == waits.model.dropped


@settings(max_examples=50)
@given(stream=st.lists(steps, max_size=16), batch_rows=by_size)
def test_a_time_that_no_bound_can_pass_is_no_value(
    stream: list[Step], batch_rows: int | None
) -> None:
    """It would wait for the end; a column beside the one that orders may hold it."""
    sent = batches(stream, keeps=True)
    taps = ("rising", "growing", "rising_sorted_2", *BEYOND_SORTED)
    calls, counters = run(beyond_plan(), sent, set_up(batch_rows), taps)
    for name, (inputs, columns, follower) in BEYOND.items():
        waits = Waits(follower(), columns)
        follow(calls, inputs, name, waits)
        assert counters[name].no_value == waits.model.no_value
        assert counters[name].out_of_order == 0
        assert (counters[name].held, counters[name].held_bytes) == (0, 0)


def told(port: str, *found: Row, time: int = NOTHING, is_heartbeat: bool = False) -> Out:
    bounds = (time, NOTHING, NOTHING, NOTHING)
    return Out(port, found, bounds, is_heartbeat, False, False, 0, None)


def of(calls: Sequence[Call], node: str = "merged") -> list[list[int]]:
    """By call, the times of the rows that came."""
    return [[row[0] for o in call.outs if o.node == node for row in o.rows] for call in calls]


def test_equal_timestamps_do_not_wait_for_each_other() -> None:
    row = (7, 0, 1, 1)
    stream = [told("east", row), told("west", row), told("north", row), told("north", row)]
    calls, _ = run(bare_plan(), stream, set_up(None), ())
    assert of(calls) == [[], [], [7, 7, 7], [7]]


def test_one_silent_input_stalls_nothing_that_punctuation_passes() -> None:
    stream = [told("east", (5, 0, 1, 1)), told("west", (6, 0, 1, 1)), told("north", time=5)]
    calls, _ = run(bare_plan(), [*stream, told("north", time=9)], set_up(None), ())
    assert of(calls) == [[], [], [5], []]
    assert of(
        [
            run(
                bare_plan(),
                [*stream, told("east", time=6), told("north", time=6)],
                set_up(None),
                (),
            )[0][-1]
        ]
    ) == [[6]]


def test_of_equal_timestamps_the_first_input_is_first() -> None:
    stream = [told("north", (3, 3, 1, 1)), told("west", (3, 2, 1, 1)), told("east", (3, 1, 1, 1))]
    calls, _ = run(bare_plan(), stream, set_up(None), ())
    assert [row[1] for o in calls[-1].outs if o.node == "merged" for row in o.rows] == [1, 2, 3]


def test_rows_beyond_max_rows_are_refused_and_counted() -> None:
    many = [(time, 0, 1, 1) for time in range(10)]
    stream = batches([("east", many, (NOTHING, NOTHING), None, False, False)], keeps=True)
    calls, counters = run(sorted_plan(), stream, set_up(None, max_rows=4), ())
    assert of(calls)[-1] == [0, 1, 2, 3]
    found = counters["first_sorted"]
    assert (found.rows_in, found.rows_out, found.rows_refused) == (10, 4, 6)
    assert found.refused_for_memory == 0


def test_memory_that_is_full_refuses_rows_and_says_so() -> None:
    many = [(time, 0, 1, 1) for time in range(40_000)]
    stream = batches([("east", many, (NOTHING, NOTHING), None, False, False)], keeps=True)
    _, counters = run(sorted_plan(), stream, set_up(None, memory_bytes=1 << 20), ())
    found = counters["first_sorted"]
    assert 0 < found.rows_refused == found.refused_for_memory
    assert found.rows_out + found.rows_refused == found.rows_in
    assert found.peak_bytes <= 1 << 20
    assert found.held_bytes == 0


def held_bytes(stream: Sequence[Out]) -> list[int]:
    """Of a Sort, after every batch."""
    found = []
    with HighSession(sorted_plan(), tuple(STREAMS), set_up(None)) as session:
        for out in stream:
            push(session, out)
            for _ in session.batches():
                pass
            operators = {each.name: each for each in session.statistics().operators}
            found.append(operators["first_sorted"].held_bytes)
    return found


@pytest.mark.parametrize("step", [1, -1, 7])
def test_memory_is_given_back_when_rows_have_left(step: int) -> None:
    """Rows in any order; of each hundred one stays, and chunks of few rows are put together."""
    times = [at * step % 20_011 for at in range(20_011)]
    late = [(100_000 + at if at % 100 == 0 else at, 0, 1, 1) for at in times]
    full, passed, ended = held_bytes(
        [
            told("east", *late),
            told("east", time=50_000),
            told("east", time=200_000),
        ]
    )
    assert passed < full / 20
    assert ended == 0


def test_who_has_not_reached_a_time_is_asked_for_it() -> None:
    with HighSession(bare_plan(), tuple(STREAMS), set_up(None)) as session:
        push(session, told("west", (9, 0, 1, 1)))
        ask(session._queries, bare_plan(), "merged", 0, 7)
        found = dict(zip((port for _, port in session.ports), wanted(session), strict=True))
        assert found["east"] == found["north"] == (7 * SECOND, 1)
        assert found["west"] == (NOTHING, 0)


def test_a_sort_asks_for_what_it_is_asked() -> None:
    with HighSession(sorted_plan(), tuple(STREAMS), set_up(None)) as session:
        push(session, told("west", (9, 0, 1, 1)))
        ask(session._queries, sorted_plan(), "merged", 0, 7)
        assert wanted(session) == [(7 * SECOND, 1)] * 3
