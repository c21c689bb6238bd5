# SPDX-License-Identifier: Apache-2.0
"""From text to trees: what stands behind FROM, joins and windows (GSQL §6, items 3, 7, 8)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tests.answers.reference.cursor import Cursor
from tests.answers.reference.expressions import at_window, expression, name
from tests.answers.reference.syntax import From, Input, Join, Length, Name, Table, Window

PREFIXES = {f"{kind}_JOIN": kind for kind in ("INNER", "LEFT_OUTER", "RIGHT_OUTER", "OUTER")}
KINDS = {"INNER": "INNER", "LEFT": "LEFT_OUTER", "RIGHT": "RIGHT_OUTER"}
KINDS |= {"FULL": "OUTER", "OUTER": "OUTER"}
BEHIND_SOURCE = (
    "WHERE",
    "GROUP",
    "HAVING",
    "CLOSING_WHEN",
    "ORDER",
    "LIMIT",
    "UNION",
    "JOIN",
    "ON",
)
UNITS_NS = {"ms": 10**6, "s": 10**9, "sec": 10**9, "second": 10**9, "minute": 60 * 10**9}
UNITS_NS |= {"min": 60 * 10**9, "hour": 3600 * 10**9, "day": 86400 * 10**9}


def join_prefix(cursor: Cursor) -> str:
    """The kind of join before FROM; a list without one is an inner join."""
    kind = PREFIXES.get(cursor.token.text.upper())
    if kind is not None:
        cursor.take()
    return kind or "INNER"


def from_clause(cursor: Cursor, kind: str) -> tuple[From, Window | None]:
    """The sources, and the window of the whole query, where it is written behind them.

    Of several sources the last one's bracket is the query's if it has a SLIDE.
    """
    items = cursor.separated(_joined)
    window = None
    last = items[-1]
    if isinstance(last, Input) and last.window and (len(items) == 1 or last.window.slide):
        window = last.window
        items[-1] = replace(last, window=None)
    if at_window(cursor):
        window = parse_window(cursor)
    return _tree(kind, items), window


def let_through(cursor: Cursor) -> tuple[From, Window | None]:
    """Packets and what lets them through: the query's window stands behind either."""
    items = cursor.separated(_input)
    window = next((item.window for item in items if item.window is not None), None)
    return _tree("INNER", [replace(item, window=None) for item in items]), window


def _tree(kind: str, items: Sequence[From]) -> From:
    tree = items[0]
    for item in items[1:]:
        tree = Join(kind, tree, item)
    return tree


def _joined(cursor: Cursor) -> From:
    left: From = _input(cursor)
    while (words := _words_before_join(cursor)) is not None:
        kind = KINDS[cursor.token.text.upper()] if words else "INNER"
        for _ in range(words + 1):
            cursor.take()
        right = _input(cursor)
        condition = expression(cursor) if cursor.accept("ON") else None
        left = Join(kind, left, right, condition)
    return left


def _words_before_join(cursor: Cursor) -> int | None:
    """How many words stand before JOIN here; None where none begins."""
    if cursor.at("JOIN"):
        return 0
    for kind in KINDS:
        if cursor.at(kind, "JOIN"):
            return 1
        if cursor.at(kind, "OUTER", "JOIN"):
            return 2
    return None


def _input(cursor: Cursor) -> Input:
    tables = cursor.separated(_table, "UNION")
    window = parse_window(cursor) if at_window(cursor) else None
    alias = _alias(cursor)
    if at_window(cursor) and window is None:
        window = parse_window(cursor)
    return Input(tuple(tables), alias, window)


def _alias(cursor: Cursor) -> str:
    if cursor.accept("AS"):
        return cursor.word()
    is_name = cursor.token.kind == "word" and _words_before_join(cursor) is None
    if is_name and cursor.token.text.upper() not in BEHIND_SOURCE:
        return cursor.word()
    return ""


def _table(cursor: Cursor) -> Table:
    word = cursor.word()
    if cursor.accept("."):
        return Table(cursor.word(), interface=word)
    return Table(word)


# Windows


def parse_window(cursor: Cursor) -> Window:
    """`[RANGE 5 min, SLIDE 1 min, WA ts]`, its parts in any order."""
    cursor.expect("[")
    window = cursor.separated(_part)
    cursor.expect("]")
    found = {key: value for part in window for key, value in part.items()}
    return Window(**found)  # type: ignore[arg-type]


def _part(cursor: Cursor) -> dict[str, Length | Name]:
    if cursor.accept("WA"):
        return {"attribute": name(cursor)}
    key = "range" if cursor.accept("RANGE") else "slide"
    if key == "slide":
        cursor.expect("SLIDE")
    return {key: _length(cursor)}


def _length(cursor: Cursor) -> Length:
    value = int(cursor.take().text)
    if cursor.token.kind != "word":
        return Length(value)
    unit = cursor.word().lower()
    if unit in ("row", "rows"):
        return Length(value, "rows")
    scale = UNITS_NS.get(unit) or UNITS_NS[unit.removesuffix("s")]
    return Length(value * scale, "ns")
