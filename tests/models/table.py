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

    def place(self, window: Vector, group: Hashable) -> int:
        """Where a group that is not there goes, whoever is in the slot.

        The first of its slots that no group of the same window has, or the first of all.
        """
        candidates = self._candidates(window, group)
        for slot in candidates:
            resident = self._slots[slot]
            if resident is None or resident.window != window:
                return slot
        return candidates[0]

    def is_empty(self, slot: int) -> bool:
        """Whether a slot has no group."""
        return self._slots[slot] is None

    def enter(self, slot: int, window: Vector, group: Hashable, value: object) -> None:
        """Begin a group in a slot that is empty."""
        if not self.is_empty(slot):
            raise LookupError(f"slot {slot} is not empty")
        self._slots[slot] = Partial(window, group, self._aggregator.first(value))

    def add(self, slot: int, value: object) -> None:
        """Add a packet to the group of a slot."""
        resident = self._resident(slot)
        self._slots[slot] = replace(resident, state=self._aggregator.add(resident.state, value))

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
