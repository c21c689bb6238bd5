# SPDX-License-Identifier: Apache-2.0
"""Groups that go on from window to window (GSQL section 6.4), and what is promised meanwhile.

A group remembers the state of every window since it began: what is moving, running or kept is made
of that each time. No silent window is ever passed over.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from typing import Any

from tests.models.bounds import END, Vector, least
from tests.models.hfta import Aggregate, Batch, Closed, Columns, Row, SuperAggregate

History = Sequence[Any]
"""A group's state in each window since it began; None: it had no row there."""


class Running:
    """Groups by window, of one temporal variable; `step` is from a value of it to the next.

    An input row is (window vector, group, state). `cells` makes a group's columns of its history.
    """

    def __init__(
        self,
        columns: Columns,
        step: int,
        combine: Callable[[Any, Any], Any],
        cells: Callable[[History], Row],
        having: Callable[[Row], bool],
        closing: Callable[[Row], bool],
    ) -> None:
        self._windows = Aggregate(columns, SuperAggregate(combine, lambda state: (state,)))
        self._step = step
        self._cells, self._having, self._closing = cells, having, closing
        self._standing: dict[Hashable, list[Any]] = {}
        self._last: int | None = None
        """The last value that has been put out."""

    @property
    def groups(self) -> int:
        """The number of groups held."""
        return self._windows.groups + len(self._standing)

    def on_batch(self, batch: Batch) -> tuple[list[Closed], Vector]:
        """The windows that close, oldest first, with the silent ones before them."""
        found: list[Closed] = []
        for closed in self._windows.on_batch(batch)[0]:
            (window,) = closed.window
            while self._standing and self._next() < window:
                found.append(self._put_out(self._next(), {}))
            states = {row[1:-1]: row[-1] for row in closed.rows}
            found.append(replace(self._put_out(window, states), is_partial=closed.is_partial))
        if self._windows.punctuation == (END,):
            self._standing = {}
        return found, self.punctuation_while(())

    def punctuation_while(self, not_yet_out: Sequence[Vector]) -> Vector:
        """As long as a group stands, the value behind the last one is still to come."""
        to_come = [(self._next(),)] if self._standing else []
        return least(self._windows.punctuation_while(()), *to_come, *not_yet_out)

    def joint_while(self, not_yet_out: Sequence[Vector]) -> None:
        """Of one temporal variable there is none."""

    def _next(self) -> int:
        assert self._last is not None
        return self._last + self._step

    def _put_out(self, window: Any, states: dict[Hashable, Any]) -> Closed:
        self._last = window
        rows = []
        for group in dict.fromkeys((*self._standing, *states)):
            history = self._standing.setdefault(group, [])
            history.append(states.get(group))
            row = (window, *group, *self._cells(history))  # type: ignore[misc]
            rows += [row] if self._having(row) else []
            if self._closing(row):
                del self._standing[group]
        return Closed((window,), tuple(rows))
