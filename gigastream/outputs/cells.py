# SPDX-License-Identifier: Apache-2.0
"""Values as a person reads them: short times below their day, digits in threes."""

from __future__ import annotations

import re
from collections.abc import Sequence

_ESCAPED = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
_CUT = "…"
_NUMBER = re.compile(r"(-?)(\d{4,})(\.\d+)?")
_TIME = re.compile(r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)\.(\d{9})Z")


class Times:
    """The times of a table: `09:08:00` below a line with the day, which is told where it changes.

    The first column of times has its day above; a time of another day tells it itself. A column
    has as many fractional digits, in threes, as its values have needed so far.
    """

    def __init__(self, columns: Sequence[int]) -> None:
        self._columns = columns
        self._digits = dict.fromkeys(columns, 0)
        self._day = ""

    def begin(self) -> None:
        """A heading comes: the day is told again below it."""
        self._day = ""

    def shorten(self, rows: list[list[str]]) -> list[tuple[str | None, list[str]]]:
        """Return the rows, each with the day that is to stand above it, or None."""
        for row in rows:
            for at in self._columns:
                self._digits[at] = max(self._digits[at], _digits(row[at]))
        return [self._below_day(row) for row in rows]

    def _below_day(self, row: list[str]) -> tuple[str | None, list[str]]:
        before = self._day
        first = next((found for at in self._columns if (found := _TIME.fullmatch(row[at]))), None)
        self._day = first[1] if first else self._day
        for at in self._columns:
            row[at] = self._short(row[at], self._digits[at])
        return (f"{self._day} UTC" if self._day != before else None), row

    def _short(self, cell: str, digits: int) -> str:
        found = _TIME.fullmatch(cell)
        if found is None:
            return cell
        day, clock, fraction = found.groups()
        shown = f"{clock}.{fraction[:digits]}" if digits else clock
        return shown if day == self._day else f"{day} {shown}"


def _digits(cell: str) -> int:
    """Return how many fractional digits a time needs, in threes."""
    found = _TIME.fullmatch(cell)
    return 0 if found is None else -(-len(found[3].rstrip("0")) // 3) * 3


def grouped(cell: str) -> str:
    """Return a number with its digits in threes; what is none, as it is."""
    found = _NUMBER.fullmatch(cell)
    return cell if found is None else f"{found[1]}{int(found[2]):,}{found[3] or ''}"


def cut(cell: str, width: int) -> str:
    """Return a cell that is no wider, its end left out if need be."""
    return cell if len(cell) <= width else cell[: width - 1] + _CUT


def printable(cell: str) -> str:
    """Return a cell that cannot move the cursor or colour the terminal: payload is a stranger's."""
    if cell.isprintable():
        return cell
    return "".join(c if c.isprintable() else _ESCAPED.get(c, f"\\u{ord(c):04x}") for c in cell)
