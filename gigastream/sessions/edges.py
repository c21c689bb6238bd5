# SPDX-License-Identifier: Apache-2.0
"""Where one set takes over from another: at a window's edge, so that each window comes once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pyarrow import compute

from gigastream.engine.batch import NativeBatch
from gigastream.engine.statistics import END
from gigastream.gsql.types import Temporal, Type
from gigastream.late_dataclass import dataclass
from gigastream.plan.base_time import column_times, reached_before
from gigastream.plan.builders import first_temporal

if TYPE_CHECKING:
    from gigastream.engine.attached_set import AttachedSet
    from gigastream.gsql.types import Schema
    from gigastream.plan import Plan
    from gigastream.plan.operators.output import Output


class Edge:
    """The first window of a query that is another set's."""

    def __init__(self, place: int, first: int, schema: Schema) -> None:
        """`first` is the value there of the column at this place, which rises, or falls."""
        self._place, self._schema = place, schema
        self._falls = _falls(schema, place)
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


@dataclass(frozen=True)
class Handover:
    """Where one set's rows of a query end, and where another's begin, each in its own windows."""

    ends: Edge
    begins: Edge


def handover(first: int, query: str, old: Plan, new: Plan) -> Handover | None:
    """From the new set's first window on the rows are its; None: the old one shows no time.

    Windows of other lengths, or counted otherwise, do not end where these begin: the old set
    answers every window that begins before, so that each packet is in one, and a few are in two.
    """
    had, has = _output(old, query), _output(new, query)
    places = time_column(had.schema), time_column(has.schema)
    if places[0] is None or places[1] is None:
        return None
    begins = Edge(places[1], first, has.schema)
    had_falls = _falls(had.schema, places[0])
    bound = reached_before(
        -first if _falls(has.schema, places[1]) else first,
        column_times(new, has, places[1]),
        column_times(old, had, places[0]),
    )
    ends = Edge(places[0], -bound if had_falls else bound, had.schema)
    return Handover(ends, begins)


def ended_queries(attached: AttachedSet, plan: Plan) -> set[str]:
    """Those that have had their last row, as by LIMIT: no punctuation will say so once more."""
    over = {each.name for each in attached.operators() if each.promised_ns == END}
    return {node.name for node in plan.outputs if node.input.name in over}


def _output(plan: Plan, query: str) -> Output:
    return next(node for node in plan.outputs if node.name == query)


def _falls(schema: Schema, place: int) -> bool:
    return schema.columns[place].temporal is Temporal.DECREASING


def time_column(schema: Schema) -> int | None:
    """The first column whose bounds say of every row whether its window is over."""
    counted = {
        index
        for index, column in enumerate(schema.columns)
        if column.type.is_integer or column.type is Type.TIMESTAMP
    }
    return first_temporal(schema, counted)
