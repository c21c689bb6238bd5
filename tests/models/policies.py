# SPDX-License-Identifier: Apache-2.0
"""The four flush policies (OPERATORS §3; Li et al., VLDB 2008, §6 and Figure 7)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tests.models.bounds import Vector, greatest, passed
from tests.models.table import Partial, Table

DEFAULT_MAX_DISORDER_WINDOWS = 2


@dataclass(frozen=True)
class Progress:
    """f(H) and f(W), one value for each temporal group variable."""

    high: Vector
    promise: Vector

    def has_passed(self, window: Vector) -> bool:
        """Whether H or W has passed a window."""
        return passed(window, self.high) or passed(window, self.promise)


class Policy:
    """What leaves the table and when. One object serves one table."""

    def act(self, table: Table, before: Progress, now: Progress, heartbeat: bool) -> list[Partial]:
        """At a growth of f(H) or f(W) and at a heartbeat; `now` is already the new state."""
        raise NotImplementedError

    def before_packet(self, table: Table, now: Progress) -> list[Partial]:
        """At each accepted packet, before it enters."""
        return []

    def evict(self, table: Table, slot: int) -> list[Partial]:
        """A collision: what leaves so that the slot becomes empty."""
        return [table.take(slot)]


def _evict_in_order(table: Table, slot: int) -> list[Partial]:
    """All groups of lower windows go first, old or not."""
    lower = [window for window in table.windows() if window < table.window_at(slot)]
    return [*table.take_windows(lower), table.take(slot)]


class Immediate(Policy):
    """Windows leave as W passes them."""

    def act(self, table: Table, before: Progress, now: Progress, heartbeat: bool) -> list[Partial]:
        """Every window that W has passed, oldest first."""
        return table.take_windows([w for w in table.windows() if passed(w, now.promise)])

    def evict(self, table: Table, slot: int) -> list[Partial]:
        """In the order of the windows."""
        return _evict_in_order(table, slot)


class SlowInOrder(Policy):
    """Figure 7: the window that ended last drips, one group for each accepted packet."""

    def __init__(self) -> None:
        self._dripping: list[Vector] = []

    def act(self, table: Table, before: Progress, now: Progress, heartbeat: bool) -> list[Partial]:
        """At a growth of f(W): what is left goes, then all windows that ended but the last."""
        if now.promise == before.promise:
            return []
        ended = [window for window in table.windows() if passed(window, now.promise)]
        flushed = [window for window in ended[:-1] if window not in self._dripping]
        left = table.take_windows([*self._dripping, *flushed])
        self._dripping = [window for window in ended[-1:] if window in table.windows()]
        return left

    def before_packet(self, table: Table, now: Progress) -> list[Partial]:
        """The next old group, from the lowest slot up."""
        return table.take_one(self._dripping)

    def evict(self, table: Table, slot: int) -> list[Partial]:
        """In the order of the windows."""
        return _evict_in_order(table, slot)


class Lazy(Policy):
    """Collisions alone, and the check that no group stays more than m windows."""

    def __init__(
        self,
        steps: Sequence[int] = (1,),
        max_disorder_windows: int = DEFAULT_MAX_DISORDER_WINDOWS,
    ) -> None:
        self._reach = tuple(step * max_disorder_windows for step in steps)

    def act(self, table: Table, before: Progress, now: Progress, heartbeat: bool) -> list[Partial]:
        """No window w stays with current > w + m in any of its columns."""
        current = greatest(now.high, now.promise)
        return table.take_windows([w for w in table.windows() if passed(self._last(w), current)])

    def _last(self, window: Vector) -> Vector:
        return tuple(value + reach for value, reach in zip(window, self._reach, strict=True))


class Slow(Lazy):
    """The default: one old group every few accepted packets, oldest window first, lowest slot.

    `packets_per_group` is the option `slow_flush`; None is the pace that adapts. Where that is not
    given and input is `hurried`, a file that is read as fast as it goes, old windows leave whole.
    """

    def __init__(
        self,
        steps: Sequence[int] = (1,),
        max_disorder_windows: int = DEFAULT_MAX_DISORDER_WINDOWS,
        packets_per_group: int | None = None,
        *,
        hurried: bool = False,
    ) -> None:
        super().__init__(steps, max_disorder_windows)
        self._adapts = packets_per_group is None
        self._leaves_whole = hurried and self._adapts
        self.pace = packets_per_group or 1
        self._packets_since_group = 0
        self._packets_this_period = 0
        self._packets_last_period = 0
        self._at_last_heartbeat: Progress | None = None

    def act(self, table: Table, before: Progress, now: Progress, heartbeat: bool) -> list[Partial]:
        """At a heartbeat what was old at the one before leaves; then the m check; then the pace."""
        present = table.windows()
        became_old = any(now.has_passed(w) and not before.has_passed(w) for w in present)
        left = table.take_windows(self._old(table, now)) if self._leaves_whole else []
        left += self._heartbeat(table, now) if heartbeat else []
        left += super().act(table, before, now, heartbeat)
        if heartbeat or became_old:
            self._adapt(table, now)
        return left

    def before_packet(self, table: Table, now: Progress) -> list[Partial]:
        """The drip; the packet that makes the count full lets a group out and enters after it."""
        self._packets_this_period += 1
        old = self._old(table, now)
        self._packets_since_group = self._packets_since_group + 1 if old else 0
        if self._packets_since_group < self.pace:
            return []
        self._packets_since_group = 0
        return table.take_one(old)

    @staticmethod
    def _old(table: Table, now: Progress) -> list[Vector]:
        return [window for window in table.windows() if now.has_passed(window)]

    def _heartbeat(self, table: Table, now: Progress) -> list[Partial]:
        previous, self._at_last_heartbeat = self._at_last_heartbeat, now
        self._packets_last_period, self._packets_this_period = self._packets_this_period, 0
        if previous is None or not self._adapts:
            return []
        return table.take_windows(self._old(table, previous))

    def _adapt(self, table: Table, now: Progress) -> None:
        old = sum(now.has_passed(group.window) for _, group in table.groups())
        if self._adapts and old:
            self.pace = max(1, self._packets_last_period // old)
