# SPDX-License-Identifier: Apache-2.0
"""Where one set takes over from another: at a window's edge, so that each window comes once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pyarrow import compute

from gigastream.engine.attached_set import AttachedSet
from gigastream.engine.batch import NativeBatch
from gigastream.outputs import OutputQuery, TimeColumn

if TYPE_CHECKING:
    from gigastream.gsql.types import Schema


class Edge:
    """The first window of a query that is another set's."""

    def __init__(self, column: TimeColumn, first: int, schema: Schema) -> None:
        """`first` is the value of the column there, which rises, or falls."""
        self._column, self._schema = column, schema
        self._first = -first if column.falls else first

    def is_reached(self, bounds: Sequence[int]) -> bool:
        """Whether all rows before it are out, by the bounds of a batch."""
        return bounds[self._column.place] >= self._first

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
        values = table.column(self._column.place).cast("int64")
        values = compute.negate(values) if self._column.falls else values
        return table, compute.less(values, self._first)


def edges_of(
    new: AttachedSet, old: Sequence[OutputQuery], schemas: dict[str, Schema]
) -> dict[str, Edge] | None:
    """By query of the old set, from where on its rows are the new one's.

    None: there is no such place in common, since a query has no windows, or another column tells
    them apart: then the one ends where the other begins, between two packets.
    """
    found = {}
    for query in old:
        first = new.whole_from(query.name)
        if first is None or query.time_column is None:
            return None
        found[query.name] = Edge(query.time_column, first, schemas[query.name])
    return found
