# SPDX-License-Identifier: Apache-2.0
"""The low level of a plan over one capture, step by step of its time or of its packets."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from packets import SECOND_NS, START_S, Capture

from gigastream.engine.attached_set import AttachedSet
from gigastream.engine.engine import Engine
from gigastream.engine.events import Event
from gigastream.plan import Plan, plan_queries
from gigastream.query_texts import QueryTexts, check_texts, inline_queries
from gigastream.settings import Settings

Properties = Mapping[str, Mapping[str, str]]
BUDGET = 1 << 20
"""Packets after which the engine looks up."""
END_NS = (1 << 63) - 1


def plan_of(text: str, interfaces: Sequence[str] | Properties = ("default",)) -> Plan:
    """Plan queries over these interfaces, of which properties may be known."""
    given = interfaces if isinstance(interfaces, Mapping) else {name: {} for name in interfaces}
    texts = QueryTexts(inline_queries((text,)), interfaces=given)
    return plan_queries(check_texts(texts).queries)


@contextmanager
def _running(
    plan: Plan, capture: Capture, interface: str, settings: Settings, *, taps: bool
) -> Iterator[tuple[Engine, AttachedSet]]:
    with AttachedSet(plan, settings, low_taps=taps) as queries, Engine(settings) as engine:
        engine.add_files([capture.source(interface)])
        engine.attach(queries)
        engine.start()
        yield engine, queries


def by_time(
    plan: Plan, capture: Capture, interface: str, settings: Settings, step_s: float
) -> Iterator[tuple[float, Event]]:
    """Every LFTA's batches with the end of the step of capture time (s) in which they came."""
    with _running(plan, capture, interface, settings, taps=True) as (engine, queries):
        goes_on, step = True, 0
        while goes_on:
            step += 1
            until_ns = START_S * SECOND_NS + round(step * step_s * SECOND_NS)
            engine.replay_until(until_ns)
            while goes_on and engine.next_timestamp_ns < until_ns:
                goes_on = engine.run(BUDGET, 0)
                yield from ((step * step_s, event) for event in queries.taken())
            if goes_on and engine.next_timestamp_ns == END_NS:
                engine.replay_until(END_NS)
                goes_on = engine.run(BUDGET, 0)
                yield from ((step * step_s, event) for event in queries.taken())


@dataclass(frozen=True)
class Service:
    """How long the low level took over its packets, turn by turn."""

    packets: np.ndarray
    """That were read by the end of each turn."""
    seconds: np.ndarray
    """Of this thread's time in each turn."""


def service(plan: Plan, capture: Capture, settings: Settings, turn_packets: int) -> Service:
    """Run it as fast as it goes, a turn of so many packets after the other."""
    packets, spent_ns, goes_on = [], [], True
    with _running(plan, capture, "default", settings, taps=False) as (engine, queries):
        while goes_on:
            begun_ns = time.thread_time_ns()
            goes_on = engine.run(turn_packets, 0)
            for _ in queries.taken():
                pass
            spent_ns.append(time.thread_time_ns() - begun_ns)
            packets.append(engine.statistics()[0].read)
    return Service(np.array(packets), np.array(spent_ns) / SECOND_NS)
