# SPDX-License-Identifier: Apache-2.0
"""Rows of a run that may come again, until their windows are over.

The first column of time says which window a row is of. A transaction holds all rows below a bound
that the engine has promised, and nothing else, so it does not hang on how rows came in batches: a
run that comes again knows by the bound alone which of its rows are in the table. Bounds of a
column that falls are of the negative.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import pyarrow as pa
import pyarrow.compute as pc

from gigastream.outputs import TimeColumn

END = (1 << 63) - 1
"""The number of a run's last transaction: no bound is as great."""
_NO_BOUND = -(1 << 63)


class Promising(Protocol):
    """Rows with the bounds that close them."""

    @property
    def bounds(self) -> Sequence[int]: ...

    @property
    def is_end(self) -> bool: ...

    def to_arrow(self) -> pa.RecordBatch: ...


class OpenWindows:
    """Gathers rows, and gives those of windows that are over."""

    def __init__(self, column: TimeColumn | None, reached: int | None) -> None:
        """`reached` is the bound below which an earlier run has written all rows.

        Without a column of time nothing is over before the end.
        """
        self._column = column
        self._reached = _NO_BOUND if reached is None else reached
        self._bound = _NO_BOUND
        self._waiting: list[pa.RecordBatch] = []
        self.row_count = 0
        """Rows that wait."""
        self.known = 0
        """Rows that an earlier run has written."""

    @property
    def bound(self) -> int:
        """Below which no row is to come."""
        return self._bound

    def take(self, batch: Promising) -> None:
        """Take rows and the bound behind them; that of the end is for `rest`."""
        rows = batch.to_arrow()
        if rows.num_rows:
            self._keep(rows)
        if self._column is not None and not batch.is_end:
            self._bound = max(self._bound, batch.bounds[self._column.place])

    def over(self) -> pa.Table | None:
        """Give the rows of windows that are over; None where none is."""
        if self._column is None or self._bound <= self._reached or not self._waiting:
            return None
        rows = pa.Table.from_batches(self._waiting)
        due = self._below(rows, self._bound)
        self._waiting = rows.filter(pc.invert(due)).to_batches()
        self._reached = self._bound
        found = rows.filter(due)
        self.row_count -= found.num_rows
        return found if found.num_rows else None

    def rest(self) -> pa.Table | None:
        """Give all rows that wait: the input has ended."""
        waiting, self._waiting, self.row_count = self._waiting, [], 0
        return pa.Table.from_batches(waiting) if waiting else None

    def unknown(self, rows: pa.Table, reached: int) -> pa.Table:
        """Of rows that were given, those that nobody has written who has reached a bound."""
        if self._column is None or reached == END:
            new = rows.slice(rows.num_rows)
        else:
            new = rows.filter(pc.invert(self._below(rows, reached)))
        self.known += rows.num_rows - new.num_rows
        return new

    def _keep(self, rows: pa.RecordBatch) -> None:
        new = self._new_of(rows)
        self.known += rows.num_rows - new.num_rows
        if new.num_rows:
            self._waiting.append(new)
            self.row_count += new.num_rows

    def _new_of(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Return what is left of rows without those that an earlier run has written."""
        if self._reached == END:
            return rows.slice(rows.num_rows)
        if self._column is None or self._reached == _NO_BOUND:
            return rows
        return rows.filter(pc.invert(self._below(pa.Table.from_batches([rows]), self._reached)))

    def _below(self, rows: pa.Table, bound: int) -> pa.ChunkedArray:
        """Say of each row whether its time is below a bound."""
        assert self._column is not None
        times = rows.column(self._column.place)
        if pa.types.is_timestamp(times.type):
            times = times.cast(pa.int64())
        wide = times.cast(pa.decimal128(20, 0))
        limit = pa.scalar(-bound if self._column.falls else bound, pa.decimal128(20, 0))
        return pc.greater(wide, limit) if self._column.falls else pc.less(wide, limit)
