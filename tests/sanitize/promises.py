# SPDX-License-Identifier: Apache-2.0
"""What the punctuation of an answer promised is held against the rows that came after it."""

from __future__ import annotations

import pyarrow
import pyarrow.compute

from gigastream.engine.events import Event
from gigastream.gsql.types import Temporal
from gigastream.plan import Plan

NOTHING = -(1 << 63)


class Promises:
    """The bounds of each query's temporal columns, and where they were broken."""

    def __init__(self, plan: Plan) -> None:
        self.broken: list[str] = []
        self._columns = {
            node.name: [
                (at, column.temporal is Temporal.DECREASING)
                for at, column in enumerate(node.schema.columns)
                if column.temporal in (Temporal.INCREASING, Temporal.DECREASING)
            ]
            for node in plan.outputs
        }
        self._bounds: dict[str, tuple[int, ...]] = {}

    def take(self, event: Event) -> None:
        """No row lies below a bound given before it, and no bound goes back."""
        columns = self._columns[event.query]
        bounds, before = event.batch.bounds, self._bounds.get(event.query)
        for at, decreases in columns if before is not None else ():
            assert before is not None
            least = _least(event, at, decreases) if event.batch.row_count else None
            if least is not None and least < before[at]:
                self.broken.append(f"{event.query}: a row of {least} below {before[at]}")
            if bounds[at] < before[at]:
                self.broken.append(f"{event.query}: from {before[at]} back to {bounds[at]}")
        self._bounds[event.query] = bounds


def _least(event: Event, at: int, decreases: bool) -> int | None:
    """The least value of a column as bounds have it: of a decreasing one the negative."""
    column = event.batch.to_arrow().column(at)
    if pyarrow.types.is_timestamp(column.type):
        column = column.cast(pyarrow.int64())
    pair = pyarrow.compute.min_max(column).as_py()
    if pair["min"] is None:
        return None
    return -pair["max"] if decreases else int(pair["min"])
