# SPDX-License-Identifier: Apache-2.0
"""Where one set takes over from another: at a window's edge, so that each window comes once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pyarrow import compute

from gigastream.engine.batch import NativeBatch
from gigastream.gsql.types import Temporal, Type
from gigastream.plan.builders import first_temporal

if TYPE_CHECKING:
    from gigastream.gsql.types import Schema


class Edge:
    """The first window of a query that is another set's."""

    def __init__(self, place: int, first: int, schema: Schema) -> None:
        """`first` is the value there of the column at this place, which rises, or falls."""
        self._place, self._schema = place, schema
        self._falls = schema.columns[place].temporal is Temporal.DECREASING
        self._first = -first if self._falls else first

    def is_reached(self, bounds: Sequence[int]) -> bool:
        """Whether all rows before it are out, by the bounds of a batch."""
        return bounds[self._place] >= self._first

    def before(self, batch: NativeBatch) -> NativeBatch | None:
        """The rows before it; None: there are none."""
        table, is_before = self._compared(batch)
        count = compute.sum(is_before).as_py() or 0
        if count == batch.row_count:
            return batch
        return NativeBatch.from_arrow(table.filter(is_before), self._schema) if count else None

    def behind(self, batch: NativeBatch, schema: Schema) -> NativeBatch | None:
        """The rows of the other set from it on; None: there are none."""
        table, is_before = self._compared(batch)
        count = compute.sum(is_before).as_py() or 0
        if count == 0:
            return batch
        rest = table.filter(compute.invert(is_before))
        return NativeBatch.from_arrow(rest, schema) if rest.num_rows else None

    def _compared(self, batch: NativeBatch) -> tuple[Any, Any]:
        """The rows, and of each whether it is before."""
        table = batch.to_arrow()
        values = table.column(self._place).cast("int64")
        values = compute.negate(values) if self._falls else values
        return table, compute.less(values, self._first)


def time_column(schema: Schema) -> int | None:
    """The first column whose bounds say of every row whether its window is over."""
    counted = {
        index
        for index, column in enumerate(schema.columns)
        if column.type.is_integer or column.type is Type.TIMESTAMP
    }
    return first_temporal(schema, counted)
