# SPDX-License-Identifier: Apache-2.0
"""Several links, some of which arrive late: what the high level holds meanwhile.

Each link's capture goes through the LFTAs of the plan by itself, with a heartbeat each second of
its time. What they put out travels to the high level as long as the link's delay says: the batches
of all links are pushed in the order of their arrival. So skew is between links and never in one of
them, as in the papers, and the order is the same in every run.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from heapq import merge
from itertools import count, groupby
from operator import itemgetter
from typing import TYPE_CHECKING

from low_level import by_time
from packets import SECOND_NS, Capture, Traffic, capture

from gigastream.engine.batch import NativeBatch
from gigastream.engine.events import Event
from gigastream.engine.statistics import OperatorStatistics
from gigastream.plan import Plan
from gigastream.sessions.high_session import HighSession
from gigastream.settings import Settings

if TYPE_CHECKING:
    import pyarrow

    from gigastream.punctuation import JointBound

OnRows = Callable[[float, NativeBatch], None]
"""Told of rows that came out, and when what let them come had arrived."""
STEP_S = 1.0
_ACCOUNT_BYTES = count(64 << 30, 1 << 20)
"""A budget of its own for every run, so that its peak is of this run."""


@dataclass(frozen=True)
class Link:
    """An interface, what comes on it, and how often its heart beats."""

    interface: str
    capture: Capture
    heartbeat_s: float = 1.0


@contextmanager
def made(traffic: Mapping[str, Traffic]) -> Iterator[list[Link]]:
    """Make what comes on each interface; it is gone when this ends."""
    with ExitStack() as opened:
        yield [Link(name, opened.enter_context(capture(each))) for name, each in traffic.items()]


@dataclass(frozen=True)
class Departure:
    """A batch of an LFTA, and when it left (s of capture time)."""

    at_s: float
    stream: str
    interface: str
    rows: pyarrow.RecordBatch | None
    bounds: tuple[int, ...]
    joint: JointBound | None
    is_end: bool


@dataclass(frozen=True)
class Sample:
    """What the high level held once all that arrived within a step had been pushed."""

    at_s: float
    rows_held: int
    bytes_held: int
    rows_out: int
    """In this step."""


@dataclass(frozen=True)
class Passed:
    """How it went."""

    samples: tuple[Sample, ...]
    peak_bytes: int
    """At any time."""
    rows_out: int
    greatest_burst: int
    """The most rows that one batch of an LFTA made the queries put out."""
    refused: int
    """Rows for which there was no room: there should be none."""
    seconds: float
    """Of this thread's time, for all of it."""
    latencies_s: tuple[float, ...]
    """From each arrival that let rows come out to these rows, in this thread's time."""

    @property
    def peak_rows(self) -> int:
        """The most rows held at the end of a step."""
        return max((sample.rows_held for sample in self.samples), default=0)

    @property
    def peak_mb(self) -> float:
        """The most memory held at any time."""
        return self.peak_bytes / 1e6


def departures(plan: Plan, links: Iterable[Link]) -> dict[str, list[Departure]]:
    """Run the low level over each link; return its batches by interface."""
    return {link.interface: list(_departures(plan, link)) for link in links}


def _departures(plan: Plan, link: Link) -> Iterator[Departure]:
    """A link's own packets come in order: W follows H at once."""
    told = Settings(
        low_level_only=True,
        slack_ns=0,
        heartbeat_ns=round(link.heartbeat_s * SECOND_NS),
        heartbeat_packets=0,
    )
    for at_s, event in by_time(plan, link.capture, link.interface, told, STEP_S):
        yield _departure(at_s, event)


def _departure(at_s: float, event: Event) -> Departure:
    batch = event.batch
    assert event.interface is not None
    rows = batch.to_arrow() if batch.row_count else None
    return Departure(
        at_s, event.query, event.interface, rows, batch.bounds, batch.joint, batch.is_end
    )


def arrive(
    plan: Plan,
    departed: Mapping[str, Sequence[Departure]],
    delays_s: Mapping[str, float] | None = None,
    on_rows: OnRows = lambda _at_s, _rows: None,
) -> Passed:
    """Push what departed into the high level, each link's batches so much later."""
    settings = Settings(memory_bytes=next(_ACCOUNT_BYTES))
    with HighSession(plan, tuple(departed), settings, is_low_elsewhere=True) as session:
        run = _Run(session, on_rows)
        for at_s, arrived in groupby(_in_order(departed, delays_s or {}), key=itemgetter(0)):
            run.step(at_s, [departure for _, departure in arrived])
        return run.passed()


Arrival = tuple[float, Departure]


def _in_order(
    departed: Mapping[str, Sequence[Departure]], delays_s: Mapping[str, float]
) -> Iterator[Arrival]:
    def arrivals(interface: str) -> Iterator[Arrival]:
        delay_s = delays_s.get(interface, 0.0)
        return ((each.at_s + delay_s, each) for each in departed[interface])

    return merge(*(arrivals(interface) for interface in departed), key=itemgetter(0))


class _Run:
    """A high level on its way, and what was seen of it."""

    def __init__(self, session: HighSession, on_rows: OnRows) -> None:
        self._session, self._on_rows = session, on_rows
        self._ports = set(session.ports)
        self._samples: list[Sample] = []
        self._peak_bytes = self._rows_out = self._greatest_burst = self._spent_ns = 0
        self._latencies_s: list[float] = []

    def step(self, at_s: float, arrived: Iterable[Departure]) -> None:
        """Push what arrives at this time, and look."""
        before = self._rows_out
        for departure in arrived:
            if (departure.stream, departure.interface) in self._ports:
                self._push(at_s, departure)
        found = self._session.statistics()
        assert found.memory is not None
        held = sum(operator.held for operator in found.operators)
        rows_out = self._rows_out - before
        self._samples.append(Sample(at_s, held, found.memory.held_bytes, rows_out))
        self._peak_bytes = max(self._peak_bytes, found.memory.peak_bytes)

    def _push(self, at_s: float, each: Departure) -> None:
        begun_ns = time.thread_time_ns()
        self._session.push(
            each.stream,
            each.interface,
            each.rows,
            each.bounds,
            joint=each.joint,
            is_end=each.is_end,
        )
        events = list(self._session.batches())
        spent_ns = time.thread_time_ns() - begun_ns
        rows = sum(event.batch.row_count for event in events)
        self._spent_ns += spent_ns
        self._latencies_s += [spent_ns / SECOND_NS] if rows and not each.is_end else []
        self._rows_out += rows
        self._greatest_burst = max(self._greatest_burst, rows)
        for event in events:
            if event.batch.row_count:
                self._on_rows(at_s, event.batch)

    def passed(self) -> Passed:
        """Return what was seen."""
        return Passed(
            tuple(self._samples),
            self._peak_bytes,
            self._rows_out,
            self._greatest_burst,
            sum(_refused(operator) for operator in self._session.statistics().operators),
            self._spent_ns / SECOND_NS,
            tuple(self._latencies_s),
        )


def _refused(operator: OperatorStatistics) -> int:
    """Return the rows for which an operator had no room."""
    return operator.groups_refused + operator.refused_for_memory
