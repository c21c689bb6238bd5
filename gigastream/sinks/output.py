# SPDX-License-Identifier: Apache-2.0
"""The tables of a run here: rows gather, and go to their tables in transactions.

A run that can come again, with the same packets, writes windows that are over, each once: what is
open when it is killed, or stopped, is left to the next. Of others nothing comes twice, so they
write what they have.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from gigastream.outputs import Batch, Content, Failure, OutputQuery
from gigastream.sinks import Key, SinkError, SinkPlace, SinkTable
from gigastream.sinks.windows import END, OpenWindows
from gigastream.words import are, counted

if TYPE_CHECKING:
    import pyarrow

EVERY_S = 1.0
"""Transactions of a table are so far apart, unless as many rows wait."""
ROWS_MAX = 1 << 18
"""That wait for no others."""


class TableOutput:
    """Where the rows of a run go: each query's into its table. SinkError as for SinkPlace.open."""

    reader_has_left = False
    waiting_since: float | None = None

    def __init__(
        self,
        asked: SinkPlace,
        queries: tuple[OutputQuery, ...],
        writer: str | None,
        earlier: Sequence[str] = (),
    ) -> None:
        """`writer` names a run that can come again; None: its packets come once.

        `earlier` are runs with which it goes on: windows that one of them has written are there.
        """
        self.content = Content(option=f"-o {asked.text}")
        self._asked = asked
        names = asked.names([query.name for query in queries])
        self._tables = {
            query.name: _Writing(
                asked.open(names[query.name], query.arrow_schema()), query, writer, earlier
            )
            for query in queries
        }

    @property
    def labels(self) -> tuple[str, ...]:
        """What a person is told that it is."""
        return (self._asked.text,)

    @property
    def wants_punctuation(self) -> bool:
        """Whether batches without rows say something, too."""
        return any(table.may_come_again for table in self._tables.values())

    @property
    def rows(self) -> int:
        """Rows that are in the tables by this run."""
        return sum(table.rows for table in self._tables.values())

    @property
    def known(self) -> int:
        """Rows that were there by an earlier one."""
        return sum(table.windows.known for table in self._tables.values())

    @property
    def left_open(self) -> int:
        """Rows of windows that are left to the next run."""
        return sum(table.left_open for table in self._tables.values())

    @property
    def lost(self) -> int:
        """Rows that could not be written."""
        return sum(table.lost for table in self._tables.values())

    @property
    def failures(self) -> tuple[Failure, ...]:
        """What could not be written, a sentence for each table."""
        return tuple(t.failure_told() for t in self._tables.values() if t.failure is not None)

    @property
    def error(self) -> SinkError | None:
        """The first of these, as the table says it: for who tries again, which loses nothing."""
        return next((t.failure for t in self._tables.values() if t.failure is not None), None)

    @property
    def next_rest_s(self) -> float | None:
        """After how long without rows `rest` is to be called; None: nothing waits."""
        due = [t.due_s for t in self._tables.values() if t.due_s is not None]
        return min(due, default=None)

    def write(self, query_name: str, batch: Batch) -> None:
        """Take rows and the bounds behind them."""
        self._tables[query_name].take(batch)

    def rest(self) -> None:
        """Write what is over: no row has come for a while."""
        for table in self._tables.values():
            table.commit()

    def lose(self, query_name: str, rows: int) -> None:
        """Count rows that nobody will write."""
        self._tables[query_name].lost += rows

    def end(self, query_name: str) -> None:
        """The input of a query is over, whatever becomes of the others: all that waits is due."""
        self._tables[query_name].is_over = True

    def leave_open(self) -> None:
        """The input was cut short: windows that are open are left to the run that comes again."""
        for table in self._tables.values():
            table.leaves_open = table.may_come_again

    def abandon(self) -> None:
        """Nobody's patience is asked for here."""

    def close(self) -> None:
        """Write the rest."""
        for table in self._tables.values():
            table.close()


class _Writing:
    """A query's table, what waits for it, and what became of the rows."""

    def __init__(
        self, table: SinkTable, query: OutputQuery, writer: str | None, earlier: Sequence[str]
    ) -> None:
        self._last = None if writer is None else table.last(writer)
        self.windows = OpenWindows(query.time_column, _reached(table, self._last, earlier))
        self.rows = self.lost = self.left_open = 0
        self.failure: SinkError | None = None
        self.leaves_open = self.is_over = False
        self._table = table
        self._writer = writer
        self._committed_s = float("-inf")

    @property
    def may_come_again(self) -> bool:
        return self._writer is not None

    @property
    def due_s(self) -> float | None:
        """In how many seconds what waits may be written; None: nothing waits."""
        if not self.windows.row_count or self.failure is not None:
            return None
        return max(0.0, self._committed_s + EVERY_S - time.monotonic())

    def take(self, batch: Batch) -> None:
        if self.failure is not None:
            self.lost += batch.row_count
            return
        self.windows.take(batch)
        if self.windows.row_count >= ROWS_MAX or self.due_s == 0:
            self.commit()

    def commit(self) -> None:
        """Write what may be written now."""
        if self.failure is not None:
            return
        rows = self.windows.over() if self.may_come_again else self.windows.rest()
        self._committed_s = time.monotonic()
        if rows is not None:
            self._write(rows, self.windows.bound)

    def close(self) -> None:
        self.commit()
        if self.leaves_open and not self.is_over:
            self.left_open = self.windows.row_count
        elif self.failure is None and (rows := self.windows.rest()) is not None:
            self._write(rows, END)
        self._table.close()

    def failure_told(self) -> Failure:
        assert self.failure is not None
        again = "the same command writes the rest" if self.may_come_again else "run again"
        return Failure(
            f"{self.failure}; {counted(self.rows, 'row')} {are(self.rows)} in it, "
            f"{self.lost:,} {are(self.lost)} not",
            f"{self.failure.hint}; {again}" if self.failure.hint else again,
        )

    def _write(self, rows: pyarrow.Table, number: int) -> None:
        key = None if self._writer is None else Key(self._writer, number)
        try:
            rows = rows if key is None else self._unknown(rows, key.writer)
            if self._table.write(rows, key):
                self.rows += rows.num_rows
            else:
                self.windows.known += rows.num_rows
            self._last = number
        except SinkError as error:
            self.failure = error
            self.lost += rows.num_rows + self.windows.row_count
            self.windows.rest()

    def _unknown(self, rows: pyarrow.Table, writer: str) -> pyarrow.Table:
        """Rows without those that another run of this name has written meanwhile."""
        last = self._table.last(writer)
        return rows if last is None or last == self._last else self.windows.unknown(rows, last)


def _reached(table: SinkTable, last: int | None, earlier: Sequence[str]) -> int | None:
    """Below which rows are there, by the run itself (`last`) or by one that it goes on with.

    One of these that has ended says nothing of what came behind its end.
    """
    before = (table.last(each) for each in earlier)
    found = [last, *(number for number in before if number != END)]
    return max((number for number in found if number is not None), default=None)
