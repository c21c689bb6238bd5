# SPDX-License-Identifier: Apache-2.0
"""CSV (RFC 4180) with a header, whose names say which column is which field."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence

from gigastream.records.lines import MAX_LINE_BYTES, lines
from gigastream.records.record_input import RecordInput
from gigastream.records.values import MISSING

_LONG_RECORD = f"a record of more than {MAX_LINE_BYTES:,} bytes: is there a quote that never ends?"
Row = tuple[int, Sequence[object] | str]


class _CsvLines:
    """Lines as the csv module takes them; an iterator that goes on after an error."""

    def __init__(self, source: RecordInput) -> None:
        self._lines = lines(source)
        self.number = 0
        self._taken = 0

    def begin(self) -> None:
        """A record begins."""
        self._taken = 0

    def __iter__(self) -> _CsvLines:
        return self

    def __next__(self) -> str:
        line = next(self._lines)
        self.number += 1
        if isinstance(line, str):
            raise csv.Error(line)
        self._taken += len(line)
        if self._taken > MAX_LINE_BYTES:
            raise csv.Error(_LONG_RECORD)
        if self.number == 1:
            line = line.removeprefix(b"\xef\xbb\xbf")
        return line.decode(errors="surrogateescape")


def rows(source: RecordInput, names: Sequence[str]) -> Iterator[Row]:
    """Yield the fields of each record, or what is wrong with it, with the number of its line."""
    given = _CsvLines(source)
    records = _records(given)
    header = next(records, None)
    if header is None:
        return
    if isinstance(header[1], str):
        yield header
        return
    columns = [str(cell).strip() for cell in header[1]]
    places = [_place(name, columns) for name in names]
    for number, cells in records:
        if isinstance(cells, str):
            yield number, cells
        elif len(cells) != len(columns):
            yield number, f"{len(cells)} cells where the header has {len(columns)}"
        else:
            yield number, [MISSING if at is None else cells[at] for at in places]


def _records(given: _CsvLines) -> Iterator[Row]:
    """Yield all cells of each record; a quote that breaks off costs what it has swallowed."""
    while True:
        reader = csv.reader(given)
        try:
            for cells in reader:
                given.begin()
                if cells:
                    yield given.number, cells
            return
        except csv.Error as problem:
            given.begin()
            yield given.number, str(problem)


def _place(name: str, columns: Sequence[str]) -> int | None:
    """Where a field stands: by its name, or else by that in another case."""
    lower = [column.lower() for column in columns]
    if name in columns:
        return columns.index(name)
    return lower.index(name.lower()) if name.lower() in lower else None
