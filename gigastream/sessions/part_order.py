# SPDX-License-Identifier: Apache-2.0
"""The answers of several parts of the groups as one, window by window (Li et al., VLDB 2008, A-1).

Each part puts out its windows in their order, with bounds below which no row of it is to come. A
batch goes on once no other part can have a row of an earlier window; the parts of one window go on
as they come.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from gigastream.engine.events import Event
from gigastream.gsql.types import Order
from gigastream.late_dataclass import dataclass, field
from gigastream.plan import Plan
from gigastream.plan.operators.output import Output

_NONE, _END = -(1 << 63), (1 << 63) - 1


@dataclass(slots=True)
class _Part:
    """What one part has put out of a query."""

    waiting: deque[tuple[int, Event]] = field(default_factory=deque)
    """Batches of rows, each with the value of its window."""
    bound: int = _NONE
    """Below it nothing is behind them."""

    @property
    def least(self) -> int:
        """No row that has not gone on is below it."""
        return self.waiting[0][0] if self.waiting else self.bound


def ordered_column(output: Output) -> int | None:
    """The column in whose order a query's rows are; None: no column says."""
    return next((at for at, order in enumerate(output.order) if order is Order.ORDERED), None)


class PartOrder:
    """Events of the parts of a plan's outputs."""

    def __init__(self, plan: Plan, parts: int) -> None:
        """Of so many parts, from each of which add() gets all batches, those without rows too."""
        self._columns = {output.name: ordered_column(output) for output in plan.outputs}
        self._queries = {name: [_Part() for _ in range(parts)] for name in self._columns}

    def add(self, part: int, event: Event) -> Iterator[Event]:
        """Take a batch of a part; yield those of its query that may go on by now."""
        column, batch = self._columns[event.query], event.batch
        if column is None:
            if batch.row_count:
                yield event
            return
        parts = self._queries[event.query]
        if batch.row_count:
            parts[part].waiting.append((batch.row_bound(column, 0), event))
        parts[part].bound = _END if batch.is_end else batch.bounds[column]
        yield from _released(parts)


def _released(parts: list[_Part]) -> Iterator[Event]:
    while True:
        first = min(parts, key=lambda part: part.least)
        if not first.waiting:
            return
        yield first.waiting.popleft()[1]
