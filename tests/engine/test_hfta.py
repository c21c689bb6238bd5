# SPDX-License-Identifier: Apache-2.0
"""Operators of the high level: rows and punctuation after every batch equal the models'."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gigastream.plan import Plan
from tests.engine.high_level import Aggregated, Direct, Follower, Ordered, follow
from tests.engine.low_cases import CASES, LowCase
from tests.engine.low_level import Tuning
from tests.engine.stepping import Call, Row, plan_of, run_steps
from tests.engine.traffic import SECOND_NS, crowd, streams
from tests.models.bounds import Column
from tests.models.hfta import Aggregate, Expand, OrderLimit, Select, SuperAggregate, Union
from tests.models.order import OrderKey
from tests.strategies.files import NANOSECONDS, Packet, pcap

FOLDER = Path(__file__).parent / "set_queries"
SAME = Column(lambda value: value)
ADD = SuperAggregate(
    lambda one, other: tuple(map(sum, zip(one, other, strict=True))), lambda state: state
)

quickly = settings(max_examples=40)
tunings = st.builds(
    Tuning,
    policy=st.sampled_from(["immediate", "slow_inorder", "slow", "slow", "lazy"]),
    slots=st.sampled_from([1, 8, 64]),
    disorder_bytes=st.sampled_from([0, 100, 700, 5_000]),
    slack_ns=st.sampled_from([None, 0, 30 * SECOND_NS]),
    heartbeat_ns=st.sampled_from([0, SECOND_NS, 7 * SECOND_NS]),
    batch_rows=st.sampled_from([1, 2, None]),
    fast_path=st.booleans(),
)


@cache
def plan(name: str) -> Plan:
    return plan_of((FOLDER / f"{name}.gsql").read_text(encoding="utf-8"))


def run(query_set: Plan, tuning: Tuning, packets: list[Packet], *streams: str) -> list[Call]:
    """`streams` are those that are wanted; of outputs nothing need be done for that."""
    capture = [("default", pcap(packets, magic=NANOSECONDS))]
    outputs = {node.name for node in query_set.nodes if node.is_output}
    taps = [name for name in streams if name not in outputs]
    return run_steps(query_set, capture, tuning.settings(), taps)


def counted(row: Row) -> Row:
    """(window, group, state) of a row (window, group, count, sum)."""
    return row[:1], row[1:-2], row[-2:]


def having() -> Follower:
    model = Aggregate([(0, SAME)], ADD, having=lambda row: row[-2] > 2)
    return Aggregated(model, counted, (0,), (0,), has_having=True)


def minutes() -> Follower:
    """Six tens are a minute; each row of the stream counts once, and its packets add up."""
    model = Aggregate([(0, Column(lambda tens: tens // 6))], ADD)
    return Aggregated(model, lambda row: ((row[0] // 6,), row[1:2], (1, row[2])), (0,), (0,))


def selected() -> Follower:
    def row(tens: Row) -> Row | None:
        tb, source, packets, size = tens
        return (tb * 10 + 5, source, 400_000_000 - tb, packets + size) if packets > 1 else None

    middle = Column(lambda tb: tb * 10 + 5)
    rest = Column(lambda tb: tb - 400_000_000)
    return Direct(Select(row, [(0, middle), (0, rest)]), (0,), (0, 2))


def sets() -> Follower:
    """Partial rows are (window, source, size, count, sum)."""
    return Direct(Expand([0, 2, 1, 3], [1, 2], 3, [(0, SAME)]), (0,), (0,))


def top() -> Follower:
    order = [OrderKey(3, descending=True), OrderKey(1)]
    return Ordered(OrderLimit([0], order, limit=3))


def following() -> Follower:
    order = [OrderKey(3, descending=True), OrderKey(2)]
    return Ordered(OrderLimit([0, 1], order, limit=3), width=2)


def beyond() -> Follower:
    return Ordered(OrderLimit([0], [OrderKey(3, descending=True), OrderKey(2)], limit=3))


def union() -> Follower:
    return Direct(Union(2, 1), (0,), (0,))


def tens_of_union() -> Follower:
    model = Aggregate([(0, Column(lambda time: time // 10))], ADD)
    return Aggregated(model, lambda row: ((row[0] // 10,), (), (1, row[2])), (0,), (0,))


OPERATORS: dict[str, tuple[str, list[str], str, Callable[[], Follower]]] = {
    "having": ("having", ["busy_low"], "busy", having),
    "aggregate of aggregate": ("minutes", ["tens"], "minutes", minutes),
    "select": ("selected", ["tens"], "selected", selected),
    "grouping sets": ("grouping_sets", ["sets_low"], "sets_sets", sets),
    "order": ("top", ["top_groups"], "top", top),
    "order, a time beyond all bounds": ("beyond_windows", ["top_groups"], "top", beyond),
    "order, two columns of time": ("next_windows", ["top_groups"], "top", following),
    "union": ("union", ["both_0", "both_1"], "both", union),
    "aggregate of union": ("union", ["both"], "tens", tens_of_union),
}


@pytest.mark.parametrize("operator", OPERATORS)
@quickly
@given(tuning=tunings, packets=streams())
def test_every_operator(operator: str, tuning: Tuning, packets: list[Packet]) -> None:
    query_set, inputs, output, follower = OPERATORS[operator]
    calls = run(plan(query_set), tuning, packets, *inputs, output)
    follow(calls, inputs, output, follower())


@pytest.mark.parametrize("operator", OPERATORS)
def test_every_operator_in_a_crowd(operator: str) -> None:
    query_set, inputs, output, follower = OPERATORS[operator]
    packets = crowd(9, 2_000, hosts=60, seconds=200, back_seconds=25)
    calls = run(plan(query_set), Tuning(disorder_bytes=4_000), packets, *inputs, output)
    follow(calls, inputs, output, follower())


def completed(case: LowCase) -> Follower:
    """The aggregation that completes a case's partial rows."""
    count = len(case.variables)

    def normal(row: Row) -> Row:
        window, group, state = case.partial(row)
        return (*window, *group, *state)

    model = Aggregate([(k, SAME) for k in range(count)], ADD)
    return Aggregated(model, case.partial, case.temporal, case.temporal, normal)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@quickly
@given(tuning=tunings, packets=streams())
def test_partial_rows_are_completed(case: LowCase, tuning: Tuning, packets: list[Packet]) -> None:
    calls = run(plan_of(case.text()), tuning, packets, "q_low")
    follow(calls, ["q_low"], "q", completed(case))
