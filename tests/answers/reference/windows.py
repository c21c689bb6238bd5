# SPDX-License-Identifier: Apache-2.0
"""Windows (GSQL §6, item 3; OPERATORS §4): which of them a row is in, and where they end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

from tests.answers.reference.sources import Tuple
from tests.answers.reference.syntax import Length, Name, Window
from tests.answers.reference.typed import INCREASING, Typed
from tests.answers.reference.types import fitted

TICK_NS = {"s": 10**9, "ms": 10**6}
COLUMNS = ("window_start", "window_end")


def tick_ns(attribute: Typed) -> int | None:
    """Nanoseconds of a tick of a column; None where it counts no time that is known."""
    return 1 if attribute.type == "timestamp" else TICK_NS.get(attribute.clock)


def ticks(length: Length, attribute: Typed) -> int:
    """A length in the attribute's own unit."""
    if not length.unit:
        return length.value
    tick = tick_ns(attribute)
    assert length.unit == "ns", f"{length.unit} of an attribute"
    assert tick is not None, "a unit of what counts no time"
    assert length.value % tick == 0, "no whole number of the attribute's unit"
    return length.value // tick


class Clocked(Protocol):
    """What has columns."""

    def clocks(self) -> Iterator[Name]:
        """Those that increase in a source, in its order."""

    def column(self, name: Name) -> Typed:
        """What a name means in its rows."""


def first_clock(source: Clocked) -> Typed:
    """What a window is over that does not say it; an absent side's columns do not increase."""
    return next(c for name in source.clocks() if (c := source.column(name)).order == INCREASING)


@dataclass(frozen=True)
class Windows:
    """Window w covers [(w + 1)·slide - length, (w + 1)·slide)."""

    length: int
    slide: int
    type: str
    """That of the windows' ends."""
    value: Callable[[Tuple], int | None]
    """Where a row stands."""

    def of(self, item: Tuple) -> range:
        """The windows that a row is in: none in a gap."""
        value = self.value(item)
        if value is None:
            return range(0)
        return range(value // self.slide, (value + self.length) // self.slide)

    def column(self, name: str, index: int) -> Typed:
        """`window_start` or `window_end` of rows that have the window at this place."""
        ahead = self.slide - (self.length if name == "window_start" else 0)

        def read(row: tuple[int, ...]) -> int:
            return fitted(self.type, row[index] * self.slide + ahead)

        return Typed(self.type, read, INCREASING)


def windows_of(window: Window, source: Clocked) -> Windows:
    """The windows of a query. Without SLIDE they tumble."""
    assert window.range is not None
    slide = window.slide or window.range
    if window.range.unit == "rows":
        return Windows(window.range.value, slide.value, "llong", lambda item: item.number)
    attribute = source.column(window.attribute) if window.attribute else first_clock(source)
    type_ = "timestamp" if attribute.type == "timestamp" else "llong"
    length, step = ticks(window.range, attribute), ticks(slide, attribute)
    return Windows(length, step, type_, lambda item: _whole(attribute, item))


def _whole(attribute: Typed, item: Tuple) -> int | None:
    value = attribute.read(item.row)
    assert value is None or isinstance(value, int)
    return value
