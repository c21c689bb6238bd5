# SPDX-License-Identifier: Apache-2.0
"""The LFTA's table and its four flush policies, event by event (OPERATORS §3).

The order within one event: W advances; windows become old; the flush policy acts; punctuation is
given. Only then does the packet enter.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from tests.models.bounds import (
    END,
    NEVER,
    Bound,
    Column,
    Vector,
    bounds,
    greatest,
    least,
)
from tests.models.policies import Policy, Progress
from tests.models.source_time import HeartbeatTimer, SourceTime
from tests.models.table import Aggregator, Candidates, Partial, Table

WINDOW_LIST_SIZE = 16


@dataclass(frozen=True)
class Step:
    """One event: the partial rows that leave, in order, then the punctuation that covers them."""

    partials: tuple[Partial, ...]
    punctuation: Vector
    heartbeat: bool = False


@dataclass(frozen=True)
class PacketSteps:
    """What one packet caused: an event if time moved before it, then what it pushed out."""

    event: Step | None
    pushed_out: tuple[Partial, ...]
    late: bool


class Lfta:
    """An aggregation LFTA.

    `columns` are the temporal group variables as functions of the source's timestamp, `candidates`
    gives the slots (of `slots`) that a key may take, best first.
    """

    def __init__(
        self,
        columns: Sequence[Column],
        slots: int,
        candidates: Candidates,
        policy: Policy,
        aggregator: Aggregator,
        window_list_size: int = WINDOW_LIST_SIZE,
    ) -> None:
        self._columns = tuple(columns)
        self._table = Table(slots, candidates, aggregator)
        self._policy = policy
        self._window_list_size = window_list_size
        nothing = bounds(columns, NEVER)
        self._now = Progress(nothing, nothing)
        self.punctuation: Vector = nothing

    def windows(self) -> list[Vector]:
        """The windows present in the table, oldest first."""
        return self._table.windows()

    def advance(self, high: Bound, promise: Bound, heartbeat: bool = False) -> Step | None:
        """H and W as they are now; an event if f(H) or f(W) grew or a heartbeat fires."""
        now = Progress(bounds(self._columns, high), bounds(self._columns, promise))
        if now == self._now and not heartbeat:
            return None
        before, self._now = self._now, now
        partials = self._policy.act(self._table, before, now, heartbeat)
        return self._event(partials, heartbeat)

    def enter(self, window: Vector, group: Hashable, value: object) -> tuple[Partial, ...]:
        """An accepted packet; the partial rows that leave before it is in its group."""
        left = list(self._policy.before_packet(self._table, self._now))
        slot = self._table.find(window, group)
        if slot is not None:
            self._table.add(slot, value)
            return tuple(left)
        left += self._make_room(window)
        slot = self._table.place(window, group)
        if not self._table.is_empty(slot):
            left += self._policy.evict(self._table, slot)
        self._table.enter(slot, window, group, value)
        return tuple(left)

    def finish(self) -> Step:
        """End of input: everything leaves, oldest window first, and the bound is the end."""
        self._now = Progress(bounds(self._columns, END), bounds(self._columns, END))
        return self._event(self._table.take_windows(self._table.windows()), False)

    def _make_room(self, window: Vector) -> list[Partial]:
        """In the list of windows."""
        windows = self._table.windows()
        if window in windows or len(windows) < self._window_list_size:
            return []
        return self._table.take_windows(windows[:1])

    def _event(self, partials: Iterable[Partial], heartbeat: bool) -> Step:
        left = tuple(partials)
        held = least(self._now.promise, *self._table.windows())
        self.punctuation = greatest(self.punctuation, held)
        return Step(left, self.punctuation, heartbeat)


@dataclass(frozen=True)
class Arrival:
    """A packet as read: `accepted` is (window, group, value) where the query takes it."""

    timestamp_ns: int | None
    file_offset: int = 0
    accepted: tuple[Vector, Hashable, object] | None = None


def replay(
    arrivals: Iterable[Arrival],
    source: SourceTime,
    lfta: Lfta,
    heartbeat_period_ns: int = 1_000_000_000,
) -> Iterator[PacketSteps]:
    """Follow one source through one LFTA; the last item is the end of input.

    A packet that is late, or not accepted, moves time and does not enter.
    """
    timer = HeartbeatTimer(heartbeat_period_ns)
    for arrival in arrivals:
        reading = source.read(arrival.timestamp_ns, arrival.file_offset)
        event = lfta.advance(reading.high, reading.promise, timer.due(reading.high))
        row = None if reading.late else arrival.accepted
        yield PacketSteps(event, lfta.enter(*row) if row else (), reading.late)
    yield PacketSteps(lfta.finish(), (), False)


def direct_mapped(hash_of: Callable[[Vector, Hashable], int], slots: int) -> Candidates:
    """One slot for each key: the hash's low bits (`slots` is a power of two)."""
    return lambda window, group: (hash_of(window, group) & (slots - 1),)


def of_pairs(hash_of: Callable[[Vector, Hashable], int], slots: int) -> Candidates:
    """That slot, then the one beside it, where there are two."""

    def candidates(window: Vector, group: Hashable) -> tuple[int, ...]:
        home = hash_of(window, group) & (slots - 1)
        return home, home ^ (1 & (slots - 1))

    return candidates
