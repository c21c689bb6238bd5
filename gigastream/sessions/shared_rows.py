# SPDX-License-Identifier: Apache-2.0
"""The rows of one query from several engines: window by window, as one engine gives them.

The next batch is taken of the engine that is furthest behind by its own punctuation. Rows of
windows beyond those that another one has yet to finish wait for it. What is promised of all is the
least of what each promises.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from gigastream.engine.events import Event
from gigastream.engine.statistics import END, NONE
from gigastream.gsql.types import Schema
from gigastream.late_dataclass import dataclass, replace
from gigastream.sessions.time_column import time_column

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gigastream.engine.batch import NativeBatch


@dataclass(frozen=True, slots=True)
class _Waiting:
    """Rows of an event, and what it promised when all of them are out."""

    event: Event
    bounds: Sequence[int]
    is_end: bool


class SharedRows:
    """Takes the events of one query from each part; gives them as those of one engine."""

    def __init__(self, schema: Schema, parts: int) -> None:
        """Of a query with these columns."""
        self._schema = schema
        self._place = time_column(schema)
        self._waiting: list[deque[_Waiting]] = [deque() for _ in range(parts)]
        self._reached = [NONE] * parts
        """The window of which more may come of a part."""
        self._bounds: list[Sequence[int]] = [[NONE] * len(schema.columns)] * parts
        self._ended: set[int] = set()

    def put(self, part: int, event: Event) -> None:
        """Take the next event of a part."""
        self._waiting[part].append(_Waiting(event, event.batch.bounds, event.batch.is_end))

    def end(self, part: int) -> None:
        """Nothing more comes of a part."""
        self._ended.add(part)

    def take(self) -> Event | None:
        """The next event; None: another one has to come before."""
        while (part := self._furthest_behind()) is not None:
            if not self._waiting[part]:
                return None
            event = self._taken(part)
            if event is not None:
                return event
        return None

    def _furthest_behind(self) -> int | None:
        """Of those that have not given all; None: all have."""
        left = (p for p, waits in enumerate(self._waiting) if waits or p not in self._ended)
        return min(left, key=lambda part: (self._reached[part], part), default=None)

    def _taken(self, part: int) -> Event | None:
        first = self._waiting[part].popleft()
        others = self._others(part)
        now, rest = self._split(first.event.batch, others)
        if rest is not None:
            later = replace(first, event=replace(first.event, batch=rest))
            self._waiting[part].appendleft(later)
            self._reached[part] = others + 1
        else:
            self._reach(part, first)
        if now is None:
            return None
        now.promise(self._least_bounds(), is_end=self._furthest_behind() is None)
        return replace(first.event, batch=now)

    def _split(
        self, batch: NativeBatch, until: int
    ) -> tuple[NativeBatch | None, NativeBatch | None]:
        """The rows of windows up to this one, and the others."""
        if self._place is None or until == END:
            return batch, None
        return batch.split(self._place, until)

    def _reach(self, part: int, event: _Waiting) -> None:
        """All rows of an event are out: what it promised holds."""
        self._bounds[part] = event.bounds
        self._reached[part] = NONE if self._place is None else event.bounds[self._place]
        if event.is_end:
            self._ended.add(part)

    def _least_bounds(self) -> list[int]:
        return [min(bounds) for bounds in zip(*self._bounds, strict=True)]

    def _others(self, part: int) -> int:
        """The first window that another part has not finished."""
        left = (
            self._reached[other]
            for other, waits in enumerate(self._waiting)
            if other != part and (waits or other not in self._ended)
        )
        return min(left, default=END)
