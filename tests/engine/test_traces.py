# SPDX-License-Identifier: Apache-2.0
"""What a heartbeat meets on its way: every operator once, with its counters as they are then."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gigastream.engine.events import Event
from gigastream.engine.trace import Trace
from gigastream.sessions.session import Session
from gigastream.sessions.threaded_session import ThreadedSession
from gigastream.settings import Settings
from gigastream.sources.packets import PacketSource
from tests.engine.stepping import plan_of
from tests.engine.traffic import packet

EVERY = 10
GROUPS = "SELECT tb, srcIP, count(*) AS n FROM IP WHERE len > 40 GROUP BY time/60 AS tb, srcIP"
SETTINGS = Settings(output_punctuation=True, heartbeat_ns=0, heartbeat_packets=EVERY)


def source(interface: str, count: int, hosts: int = 3) -> PacketSource:
    made = (packet(at, at % hosts) for at in range(count))
    packets = [(one.timestamp_ns, one.data) for one in made]
    return PacketSource(packets, interface)


def heartbeats(events: Iterator[Event]) -> list[Trace]:
    return [trace for event in events if (trace := event.trace) is not None]


def test_each_step_has_its_counters_as_they_are_then() -> None:
    with Session(plan_of(GROUPS), [source("eth0", 100)], SETTINGS) as session:
        traces = heartbeats(session.batches())
    assert [trace.number for trace in traces] == list(range(1, len(traces) + 1))
    assert len(traces) == 100 // EVERY
    for number, trace in enumerate(traces, start=1):
        low, union, high = trace.steps
        assert (low.node, low.interface) == ("query_low", "eth0")
        assert (union.node, union.interface) == ("query_low", None)
        assert (high.node, high.interface) == ("query", None)
        assert low.rows_in == number * EVERY
        assert low.rows_out == union.rows_in == union.rows_out == high.rows_in
        assert low.held + high.held >= min(3, number * EVERY)


def test_time_goes_on_from_step_to_step_and_nobody_pays_for_another() -> None:
    with Session(plan_of(GROUPS), [source("eth0", 100)], SETTINGS) as session:
        traces = heartbeats(session.batches())
    assert traces
    for trace in traces:
        for step, after in zip(trace.steps, trace.steps[1:], strict=False):
            assert step.received_ns <= step.received_ns + step.cost_ns <= after.received_ns
        assert all(step.cost_ns >= 0 for step in trace.steps)


def test_rows_that_wait_are_seen_in_the_queue() -> None:
    text = "SELECT time, len FROM PKT"
    with Session(plan_of(text), [source("eth0", 95)], SETTINGS) as session:
        traces = heartbeats(session.batches())
    assert traces
    for trace in traces:
        assert trace.steps[0].queue == EVERY
        assert trace.steps[0].rows_out == trace.steps[0].rows_in == trace.number * EVERY


@pytest.mark.parametrize("is_threaded", [False, True], ids=["one thread", "two threads"])
def test_a_heartbeat_names_the_interface_that_it_is_of(is_threaded: bool) -> None:
    parts = [[source("east", 50)], [source("west", 50)]]
    plan = plan_of(GROUPS)
    with (
        ThreadedSession(plan, parts, SETTINGS)
        if is_threaded
        else Session(plan, [*parts[0], *parts[1]], SETTINGS)
    ) as session:
        traces = heartbeats(session.batches())
    for interface in ("east", "west"):
        own = [trace for trace in traces if trace.steps[0].interface == interface]
        assert [trace.number for trace in own] == list(range(1, 6))


def test_a_batch_that_is_no_heartbeat_has_no_way() -> None:
    with Session(plan_of(GROUPS), [source("eth0", 100)], SETTINGS) as session:
        events = list(session.batches())
    assert any(event.batch.row_count for event in events)
    assert all((event.trace is None) == (not event.batch.is_heartbeat) for event in events)


def test_a_longer_way_has_its_first_steps() -> None:
    chain = "DEFINE { query_name q0; visibility internal; } SELECT time, len FROM PKT;"
    for at in range(1, 20):
        define = f"DEFINE {{ query_name q{at}; }}"
        chain += f"{define} SELECT time, len FROM q{at - 1} WHERE len > {at};"
    with Session(plan_of(chain), [source("eth0", 30)], SETTINGS) as session:
        last = [e for e in session.batches() if e.query == "q19"]
    traces = heartbeats(iter(last))
    assert traces
    assert all(len(trace.steps) == 16 for trace in traces)
    assert traces[0].steps[0].interface == "eth0"
