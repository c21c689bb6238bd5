# SPDX-License-Identifier: Apache-2.0
"""Tables for people: aligned text, each row as soon as it comes.

The widths are those of the widest cell so far, so no row waits for the last one. With several
queries a new table begins whenever another query's rows come.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from typing import BinaryIO

from gigastream.outputs import Batch, Query

_GAP = "  "
_ESCAPED = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


class TableWriter:
    """Writes tables of several queries below one another."""

    def __init__(self, stream: BinaryIO, queries: tuple[Query, ...]) -> None:
        self._stream = stream
        self._queries = queries
        self._shown: str | None = None
        self._begun: set[str] = set()
        self._widths = {query.name: [len(name) for name in query.columns] for query in queries}

    def write(self, query: Query, batch: Batch) -> None:
        """Write the rows, below a heading where the table begins."""
        text = batch.csv().decode(errors="backslashreplace")
        rows = [[_printable(cell) for cell in row] for row in csv.reader(io.StringIO(text, ""))]
        widths = self._widths[query.name]
        _widen(widths, rows)
        if self._shown != query.name:
            self._begin(query)
        self._put(_line(row, widths, query.numeric) for row in rows)

    def close(self) -> None:
        """Show the heading of a table that had no rows."""
        for query in self._queries:
            if query.name not in self._begun:
                self._begin(query)

    def _begin(self, query: Query) -> None:
        widths = self._widths[query.name]
        if self._shown is not None:
            self._put([""])
        if len(self._queries) > 1:
            self._put([f"{query.name}:"])
        rule = ["─" * width for width in widths]
        self._put(_line(cells, widths, query.numeric) for cells in (query.columns, rule))
        self._shown = query.name
        self._begun.add(query.name)

    def _put(self, lines: Iterable[str]) -> None:
        self._stream.writelines(f"{line}\n".encode() for line in lines)


def open_writer(stream: BinaryIO, queries: tuple[Query, ...]) -> TableWriter:
    """Return a writer for all queries."""
    return TableWriter(stream, queries)


def _widen(widths: list[int], rows: list[list[str]]) -> None:
    for row in rows:
        for column, cell in enumerate(row):
            widths[column] = max(widths[column], len(cell))


def _line(cells: Sequence[str], widths: list[int], numeric: Sequence[bool]) -> str:
    aligned = (
        cell.rjust(width) if right else cell.ljust(width)
        for cell, width, right in zip(cells, widths, numeric, strict=True)
    )
    return _GAP.join(aligned).rstrip()


def _printable(cell: str) -> str:
    """Return a cell that cannot move the cursor or colour the terminal: payload is a stranger's."""
    if cell.isprintable():
        return cell
    return "".join(c if c.isprintable() else _ESCAPED.get(c, f"\\u{ord(c):04x}") for c in cell)
