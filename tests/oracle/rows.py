# SPDX-License-Identifier: Apache-2.0
"""Rows as CSV text, and whether two multisets of rows are the same answer (OPERATORS §5)."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence

from tests.oracle.values import text

Row = tuple[object, ...]
Cell = str | None

RELATIVE_TOLERANCE = 1e-9
SHOWN_DIFFERENCES = 10


def to_csv(names: Sequence[str], rows: Iterable[Row]) -> str:
    """A header line and the rows, as the command line prints them."""
    lines = [names, *([text(value) for value in row] for row in rows)]
    return "".join(",".join(map(_quoted, line)) + "\n" for line in lines)


def _quoted(cell: Cell) -> str:
    """NULL is an empty cell, an empty string is two quotes."""
    if cell is None:
        return ""
    if cell == "" or any(character in cell for character in ',"\r\n'):
        return '"' + cell.replace('"', '""') + '"'
    return cell


def parse_csv(csv: str) -> tuple[list[str], list[list[Cell]]]:
    """Header and rows; a cell that is empty and not quoted is None.

    Raises ValueError for text that has no header.
    """
    lines = _lines(csv)
    if not lines:
        raise ValueError("no header line")
    return [name or "" for name in lines[0]], lines[1:]


def _lines(csv: str) -> list[list[Cell]]:
    lines: list[list[Cell]] = []
    line: list[Cell] = []
    at = 0
    while at < len(csv):
        cell, at = _cell(csv, at)
        line.append(cell)
        if at >= len(csv) or csv[at] == "\n":
            lines.append(line)
            line = []
        at += 1
        if at == len(csv) and csv[at - 1] == ",":
            lines.append([*line, None])
    return lines


def _cell(csv: str, at: int) -> tuple[Cell, int]:
    """The cell that begins at `at`, and where the comma or the line's end behind it stands."""
    if csv[at] == '"':
        return _quoted_cell(csv, at + 1)
    end = at
    while end < len(csv) and csv[end] not in ",\n":
        end += 1
    return csv[at:end].rstrip("\r") or None, end


def _quoted_cell(csv: str, at: int) -> tuple[str, int]:
    cell = ""
    while True:
        end = csv.index('"', at)
        cell += csv[at:end]
        if csv[end + 1 : end + 2] != '"':
            end += 1
            return cell, end + 1 if csv[end : end + 1] == "\r" else end
        cell, at = cell + '"', end + 2


def difference(expected: Sequence[Row], actual: str | Iterable[Sequence[Cell]]) -> str | None:
    """What distinguishes two answers as multisets of rows, or None.

    `actual` is CSV text with its header, or cells as text. Expected cells are compared as they
    print, floats to 1e-9 relative.
    """
    rows = parse_csv(actual)[1] if isinstance(actual, str) else [list(row) for row in actual]
    floats = sorted({at for row in expected for at, cell in enumerate(row) if _is_float(cell)})
    wanted = _by_exact_cells(([text(cell) for cell in row] for row in expected), floats)
    given = _by_exact_cells(rows, floats)
    problems = []
    for key in wanted.keys() | given.keys():
        problems += _compare(key, wanted.get(key, []), given.get(key, []))
    return _report(problems) if problems else None


def _is_float(cell: object) -> bool:
    return isinstance(cell, float)


def _by_exact_cells(
    rows: Iterable[Sequence[Cell]], floats: Sequence[int]
) -> dict[tuple[Cell, ...], list[tuple[Cell, ...]]]:
    groups: dict[tuple[Cell, ...], list[tuple[Cell, ...]]] = defaultdict(list)
    for row in rows:
        exact = tuple(cell for at, cell in enumerate(row) if at not in floats)
        groups[exact].append(tuple(row[at] if at < len(row) else None for at in floats))
    return groups


def _compare(
    key: tuple[Cell, ...], wanted: list[tuple[Cell, ...]], given: list[tuple[Cell, ...]]
) -> list[str]:
    if len(wanted) != len(given):
        return [f"{key}: {len(wanted)} rows wanted, {len(given)} given"]
    pairs = zip(sorted(wanted, key=_sortable), sorted(given, key=_sortable), strict=True)
    return [f"{key}: {want} wanted, {have} given" for want, have in pairs if not _close(want, have)]


def _sortable(cells: tuple[Cell, ...]) -> list[float]:
    return [-math.inf if number is None else number for number in map(_number, cells)]


def _number(cell: Cell) -> float | None:
    try:
        return None if cell is None else float(cell)
    except ValueError:
        return None


def _close(wanted: tuple[Cell, ...], given: tuple[Cell, ...]) -> bool:
    return all(map(_same_number, wanted, given))


def _same_number(wanted: Cell, given: Cell) -> bool:
    left, right = _number(wanted), _number(given)
    if left is None or right is None:
        return wanted == given
    if math.isnan(left) or math.isnan(right):
        return math.isnan(left) and math.isnan(right)
    return math.isclose(left, right, rel_tol=RELATIVE_TOLERANCE, abs_tol=0.0)


def _report(problems: list[str]) -> str:
    shown = "\n".join(sorted(problems)[:SHOWN_DIFFERENCES])
    more = len(problems) - SHOWN_DIFFERENCES
    return shown + (f"\nand {more} more" if more > 0 else "")


def assert_same_rows(expected: Sequence[Row], actual: str | Iterable[Sequence[Cell]]) -> None:
    """Raise AssertionError with the first differences if the answers differ."""
    problem = difference(expected, actual)
    assert problem is None, problem
