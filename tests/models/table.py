# SPDX-License-Identifier: Apache-2.0
"""The LFTA's table: slots, and the groups of each window in them. The window is part of the key."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tests.models.bounds import Vector

Candidates = Callable[[Vector, Hashable], Sequence[int]]


@dataclass(frozen=True)
class Aggregator:
    """How packets become a partial row: the state of the first one, and one more added."""

    first: Callable[[Any], Any]
    add: Callable[[Any, Any], Any]


COUNT = Aggregator(lambda value: 1, lambda state, value: state + 1)
COUNT_AND_SUM = Aggregator(
    lambda value: (1, value), lambda state, value: (state[0] + 1, state[1] + value)
)


@dataclass(frozen=True)
class Partial:
    """A partial row: a group of one window and its aggregates so far."""

    window: Vector
    group: Hashable
    state: Any


class Table:
    """A fixed number of slots, each empty or with one group."""

    def __init__(self, slots: int, candidates: Candidates, aggregator: Aggregator) -> None:
        self._slots: list[Partial | None] = [None] * slots
        self._candidates = candidates
        self._aggregator = aggregator

    def groups(self) -> Iterator[tuple[int, Partial]]:
        """Every group present with its slot, lowest slot first."""
        return ((slot, group) for slot, group in enumerate(self._slots) if group is not None)

    def windows(self) -> list[Vector]:
        """The windows present, oldest first (lexicographically)."""
        return sorted({group.window for _, group in self.groups()})

    def find(self, window: Vector, group: Hashable) -> int | None:
        """The slot that holds this group, if any."""
        for slot in self._candidates(window, group):
            resident = self._slots[slot]
            if resident is not None and (resident.window, resident.group) == (window, group):
                return slot
        return None

    def collision(self, window: Vector, group: Hashable) -> int | None:
        """The slot whose group must leave before this one can enter, if none is empty."""
        candidates = self._candidates(window, group)
        if any(self._slots[slot] is None for slot in candidates):
            return None
        return candidates[0]

    def add(self, window: Vector, group: Hashable, value: object) -> None:
        """Add a packet to its group, which is present or has an empty slot."""
        slot = self.find(window, group)
        if slot is not None:
            resident = self._resident(slot)
            self._slots[slot] = replace(resident, state=self._aggregator.add(resident.state, value))
            return
        slot = next(s for s in self._candidates(window, group) if self._slots[s] is None)
        self._slots[slot] = Partial(window, group, self._aggregator.first(value))

    def take(self, slot: int) -> Partial:
        """Take the group of a slot out."""
        group = self._resident(slot)
        self._slots[slot] = None
        return group

    def window_at(self, slot: int) -> Vector:
        """The window of the group in a slot that is not empty."""
        return self._resident(slot).window

    def _resident(self, slot: int) -> Partial:
        group = self._slots[slot]
        if group is None:
            raise LookupError(f"slot {slot} is empty")
        return group

    def take_windows(self, windows: Iterable[Vector]) -> list[Partial]:
        """Take whole windows out, in this order, each from its lowest slot to its highest."""
        return [
            self.take(slot)
            for window in windows
            for slot, group in list(self.groups())
            if group.window == window
        ]

    def take_one(self, windows: Iterable[Vector]) -> list[Partial]:
        """Take one group out: of the first window that has any, the lowest slot."""
        for window in windows:
            for slot, group in self.groups():
                if group.window == window:
                    return [self.take(slot)]
        return []
