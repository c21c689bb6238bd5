# SPDX-License-Identifier: Apache-2.0
"""Tables for people: aligned text, each row as soon as it comes.

The widths are those of the widest cell so far, so no row waits for the last one. With several
queries a new table begins whenever another query's rows come. At a terminal no row is wider than
it is: texts are cut, then whole columns are left out from the last, which the end tells; elsewhere
nothing is. How cells are shown: gigastream/outputs/cells.py.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable, Sequence
from typing import BinaryIO

from gigastream.outputs import Batch, OutputQuery
from gigastream.outputs.cells import Times, cut, grouped, printable

_GAP = "  "
_LEAST_WIDTH = 8
"""Below it a cell that is cut tells nothing."""

_MORE = "…"
"""Stands where columns are left out."""


class TableWriter:
    """Writes tables of several queries below one another."""

    def __init__(self, stream: BinaryIO, queries: tuple[OutputQuery, ...]) -> None:
        self._stream = stream
        self._tables = {query.name: _Table(query) for query in queries}
        self._shown: _Table | None = None

    def write(self, query: OutputQuery, batch: Batch) -> None:
        """Write the rows, below a heading where the table begins."""
        text = batch.csv().decode(errors="backslashreplace")
        table = self._tables[query.name]
        if self._shown is not table:
            table.begin()
        rows = table.cells([[printable(cell) for cell in row] for row in _rows(text)])
        limit = _terminal_width(self._stream)
        lines = self._heading(table, limit) if self._shown is not table else []
        self._put([*lines, *table.lines(rows, limit)])

    def close(self) -> None:
        """Show the heading of a table that had no rows; tell which columns were left out."""
        for table in self._tables.values():
            if not table.is_begun:
                self._put(self._heading(table, _terminal_width(self._stream)))
        self._put(line for table in self._tables.values() for line in self._left_out(table))

    def _left_out(self, table: _Table) -> list[str]:
        of = f" of {table.query.name}" if len(self._tables) > 1 else ""
        names = ", ".join(table.left_out)
        return [f"no room for{of}: {names} (-o csv has all)"] if names else []

    def _heading(self, table: _Table, limit: int | None) -> list[str]:
        above = [""] if self._shown is not None else []
        name = [f"{table.query.name}:"] if len(self._tables) > 1 else []
        self._shown = table
        return [*above, *name, *table.heading(limit)]

    def _put(self, lines: Iterable[str]) -> None:
        self._stream.write("".join(f"{line}\n" for line in lines).encode())


class _Table:
    """What has been shown of a query."""

    def __init__(self, query: OutputQuery) -> None:
        self.query = query
        self.is_begun = False
        self._widths = [len(name) for name in query.columns]
        self._least_shown = len(query.columns)
        kinds = zip(query.numeric, query.times, strict=True)
        self._texts = [at for at, kind in enumerate(kinds) if not any(kind)]
        self._times = Times([at for at, is_time in enumerate(query.times) if is_time])

    @property
    def left_out(self) -> Sequence[str]:
        """The columns that some row was shown without."""
        return self.query.columns[self._least_shown :]

    def begin(self) -> None:
        """A heading comes, below which the day is told again."""
        self._times.begin()

    def cells(self, rows: list[list[str]]) -> list[tuple[str | None, list[str]]]:
        """Return the rows as they are shown, each with the day that is to stand above it."""
        for row in rows:
            for at, is_quantity in enumerate(self.query.quantities):
                row[at] = grouped(row[at]) if is_quantity else row[at]
        shown = self._times.shorten(rows)
        for _, row in shown:
            self._widths = [
                max(width, len(cell)) for width, cell in zip(self._widths, row, strict=True)
            ]
        return shown

    def heading(self, limit: int | None) -> list[str]:
        """Return the names of the columns and the rule below them."""
        self.is_begun = True
        widths = self._fitting(limit)
        rule = ["─" * width for width in widths]
        return [self._line(cells, widths, limit) for cells in (self.query.columns, rule)]

    def lines(self, rows: list[tuple[str | None, list[str]]], limit: int | None) -> list[str]:
        """Return the lines of rows, none wider than `limit`."""
        widths = self._fitting(limit)
        lines = []
        for day, row in rows:
            lines += [day] if day is not None else []
            lines.append(self._line(row, widths, limit))
        return lines

    def _line(self, cells: Sequence[str], widths: list[int], limit: int | None) -> str:
        aligned = [
            cut(cell, width).rjust(width) if right else cut(cell, width).ljust(width)
            for cell, width, right in zip(cells, widths, self.query.numeric, strict=False)
        ]
        line = _GAP.join(aligned + [_MORE] * (len(widths) < len(cells))).rstrip()
        return line if limit is None else cut(line, limit)

    def _fitting(self, limit: int | None) -> list[int]:
        """Return the widths of the columns that are shown; no number and no time is cut.

        The widest texts give way, then the last columns, whose room goes to the texts again.
        """
        if limit is None:
            return list(self._widths)
        shown = self._how_many_fit(limit)
        self._least_shown = min(self._least_shown, shown)
        room = limit if shown == len(self._widths) else limit - len(_GAP + _MORE)
        return self._cut_texts(self._widths[:shown], room)

    def _how_many_fit(self, limit: int) -> int:
        """Return how many columns there is room for, each text as short as it may be; 1 always."""
        least = [
            min(width, _LEAST_WIDTH) if at in self._texts else width
            for at, width in enumerate(self._widths)
        ]
        if _wide(least) <= limit:
            return len(least)
        room = limit - len(_GAP + _MORE)
        return max([1, *(n for n in range(1, len(least)) if _wide(least[:n]) <= room)])

    def _cut_texts(self, widths: list[int], room: int) -> list[int]:
        texts = [at for at in self._texts if at < len(widths)]
        excess = _wide(widths) - room
        while excess > 0 and texts:
            widest = max(texts, key=lambda at: widths[at])
            if widths[widest] <= _LEAST_WIDTH:
                break
            widths[widest] -= 1
            excess -= 1
        return widths


def _wide(widths: Sequence[int]) -> int:
    return sum(widths) + len(_GAP) * (len(widths) - 1)


def open_writer(stream: BinaryIO, queries: tuple[OutputQuery, ...]) -> TableWriter:
    """Return a writer for all queries."""
    return TableWriter(stream, queries)


def _rows(text: str) -> list[list[str]]:
    """Return the cells of csv lines; an empty line is a row whose only cell is NULL."""
    return [row or [""] for row in csv.reader(io.StringIO(text, ""))]


def _terminal_width(stream: BinaryIO) -> int | None:
    """Return the columns of the terminal that the table goes to; None: it goes elsewhere."""
    try:
        return os.get_terminal_size(stream.fileno()).columns or None
    except OSError:
        return None
