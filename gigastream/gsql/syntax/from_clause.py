# SPDX-License-Identifier: Apache-2.0
"""The FROM clause: tables, unions, joins, windows (GSQL.md §6 items 3, 7, 8 and the last lines)."""

from __future__ import annotations

from gigastream.gsql.diagnostics import closest
from gigastream.gsql.other_sql import CLAUSE_WORDS
from gigastream.gsql.source import NOWHERE, Span
from gigastream.gsql.syntax.ast import (
    Duration,
    FromItem,
    JoinedSource,
    Table,
    UnionItem,
    Window,
)
from gigastream.gsql.syntax.blocks import at_block
from gigastream.gsql.syntax.cursor import CLAUSES, Cursor, ParseError
from gigastream.gsql.syntax.expressions import (
    SUBQUERY_HINT,
    parse_expression,
    parse_name,
)
from gigastream.gsql.syntax.lexer import Token
from gigastream.late_dataclass import replace

_UNITS = {
    "ms": "ms millisecond milliseconds msec msecs",
    "s": "s sec secs second seconds",
    "min": "min mins minute minutes",
    "hour": "h hr hour hours",
    "day": "d day days",
    "rows": "row rows",
}
_UNIT_OF = {spelling: unit for unit, line in _UNITS.items() for spelling in line.split()}

_JOIN_KINDS = {
    "INNER": "INNER",
    "LEFT": "LEFT_OUTER",
    "RIGHT": "RIGHT_OUTER",
    "FULL": "OUTER",
    "OUTER": "OUTER",
}

_ONE_WINDOW = "a query has one window"


def parse_from_list(cursor: Cursor) -> tuple[tuple[FromItem, ...], Window | None]:
    """Read what stands behind FROM: the items, and the window that is the whole query's."""
    items = cursor.separated(lambda: _joined(cursor))
    items, window = _take_window(items) if _windows_the_query(items) else (items, None)
    if window is None and cursor.token.kind == "[":
        window = parse_window(cursor)
    if cursor.token.kind == "[":
        hint = f"{_ONE_WINDOW}; to window each input of a join, a bracket behind each"
        raise _second_window(cursor, cursor.span_of(cursor.token), hint)
    return items, window


def parse_filter_from(cursor: Cursor) -> tuple[tuple[FromItem, ...], Window | None]:
    """Read what stands behind the FROM of a FILTER_JOIN: packets, and what lets them through."""
    return _windowed_by_rows(cursor, cursor.separated(lambda: _joined(cursor)))


def parse_watchlist_from(cursor: Cursor) -> tuple[tuple[FromItem, ...], Window | None]:
    """Read what stands behind the FROM of a WATCHLIST_JOIN: packets, and a list or its file."""
    packets = _table(cursor)
    cursor.expect(",", "',' and the list", "WATCHLIST_JOIN FROM IPV4 p, list w")
    return _windowed_by_rows(cursor, (packets, _table(cursor, may_be_file=True)))


def _windowed_by_rows(
    cursor: Cursor, items: tuple[FromItem, ...]
) -> tuple[tuple[FromItem, ...], Window | None]:
    """The query's window stands behind the first item, which alone has rows, or behind all."""
    windows: list[Window] = []
    found = list(items)
    for at, item in enumerate(items):
        if not isinstance(item, Table | UnionItem) or item.window is None:
            continue
        if at > 0 and item.window.span.start < item.alias_span.start:
            _refuse_window_of_others(cursor, item.window)
        elif windows:
            _second_window(cursor, item.window.span, _ONE_WINDOW)
        windows.append(item.window)
        found[at] = replace(item, window=None)
    if cursor.token.kind == "[":
        raise _second_window(cursor, cursor.span_of(cursor.token), _ONE_WINDOW)
    return tuple(found), windows[0] if windows else None


def _refuse_window_of_others(cursor: Cursor, window: Window) -> None:
    hint = "the query's window stands behind the first source, or behind all"
    message = "this source has no rows to be windowed: it lets others through"
    cursor.error("misplaced-window", message, window.span, hint)


def _windows_the_query(items: tuple[FromItem, ...]) -> bool:
    """True if the bracket behind the last item is the query's: see Select in ast.py."""
    last = items[-1]
    if not isinstance(last, Table | UnionItem) or last.window is None:
        return False
    return len(items) == 1 or last.window.slide is not None


def _take_window(items: tuple[FromItem, ...]) -> tuple[tuple[FromItem, ...], Window | None]:
    *others, last = items
    assert isinstance(last, Table | UnionItem)
    return (*others, replace(last, window=None)), last.window


def _second_window(cursor: Cursor, span: Span, hint: str) -> ParseError:
    return cursor.error("duplicate-clause", "a second window", span, hint)


# Joins


def _joined(cursor: Cursor) -> FromItem:
    mark = cursor.mark()
    left = _source(cursor)
    length = 0
    while (kind := _join_here(cursor)) is not None:
        right = _source(cursor)
        condition = parse_expression(cursor) if cursor.accept("ON") else None
        left = JoinedSource(kind, left, right, condition, span=cursor.since(mark))
        length += 1
        cursor.refuse_chain(mark, length)
    return left


def _join_here(cursor: Cursor) -> str | None:
    """Step over `[kind [OUTER]] JOIN` and return the kind, or None where none begins."""
    words = _words_before_join(cursor)
    if words is None:
        return None
    first = cursor.token
    for _ in range(words + 1):
        cursor.advance()
    kind = first.text.upper()
    if kind in ("CROSS", "NATURAL"):
        message = f"there is no {kind} JOIN: a join relates the times of its sources"
        hint = "FROM A INNER JOIN B ON A.ts = B.ts"
        raise cursor.error("syntax", message, cursor.span_of(first), hint)
    return _JOIN_KINDS[kind] if words else "INNER"  # a misspelt JOIN counts as one


def _words_before_join(cursor: Cursor) -> int | None:
    """Return how many words stand before JOIN here, or None where no join begins."""
    words = 1 if cursor.is_word("NATURAL") else 0
    if cursor.is_word("LEFT", "RIGHT", "FULL", ahead=words):
        words += 2 if cursor.is_word("OUTER", ahead=words + 1) else 1
    elif cursor.is_word("INNER", "OUTER", "CROSS", ahead=words):
        words += 1
    return words if cursor.peek(words).kind == "JOIN" else None


# Unions and tables


def _source(cursor: Cursor) -> FromItem:
    mark = cursor.mark()
    branches = [_table(cursor)]
    while cursor.accept("UNION"):
        _refuse_union_of_queries(cursor)
        _refuse_named_branch(cursor, branches[-1])
        branches.append(_table(cursor))
    if len(branches) == 1:
        return branches[0]
    last = branches.pop()
    branches.append(replace(last, alias=None, window=None, alias_span=NOWHERE))
    return UnionItem(
        tuple(branches), last.alias, last.window, last.alias_span, span=cursor.since(mark)
    )


def _refuse_union_of_queries(cursor: Cursor) -> None:
    """Fail at `UNION [ALL] SELECT`, behind which another query stands."""
    ahead = 1 if cursor.is_word("ALL") or cursor.token.kind == "DISTINCT" else 0
    if cursor.peek(ahead).kind != "SELECT":
        return
    hint = "FROM TCP UNION UDP; of two queries, each of a name: SELECT * FROM a UNION b"
    failure = cursor.unexpected("a source", hint)
    cursor.skip_to(())
    raise failure


def _refuse_named_branch(cursor: Cursor, branch: Table) -> None:
    hint = "a union has one name and one window, behind its last branch"
    if branch.alias is not None:
        message = "a name inside a union"
        cursor.error("syntax", message, branch.alias_span, hint)
    if branch.window is not None:
        cursor.error("syntax", "a window inside a union", branch.window.span, hint)


def _table(cursor: Cursor, *, may_be_file: bool = False) -> Table:
    mark = cursor.mark()
    if cursor.token.kind == "(":
        raise _refuse_subquery(cursor)
    is_file = may_be_file and cursor.token.kind == "string"
    table = _file(cursor) if is_file else _table_name(cursor)
    window = parse_window(cursor) if cursor.token.kind == "[" else None
    alias = _alias(cursor)
    if window is None and cursor.token.kind == "[":
        window = parse_window(cursor)
    return replace(
        table,
        window=window,
        alias=None if alias is None else alias.text,
        alias_span=NOWHERE if alias is None else cursor.span_of(alias),
        span=cursor.since(mark),
    )


def _refuse_subquery(cursor: Cursor) -> ParseError:
    """Report what stands in parentheses and step over it: its clauses are not ours."""
    failure = cursor.unexpected("a source", SUBQUERY_HINT)
    cursor.advance()
    cursor.skip_to({")"})
    cursor.accept(")")
    return failure


def _file(cursor: Cursor) -> Table:
    token = cursor.advance()
    return Table(token.text, is_file=True, name_span=cursor.span_of(token))


def _table_name(cursor: Cursor) -> Table:
    if cursor.token.kind == "[":
        return _over_set(cursor)
    parts = [_first_part(cursor)]
    while cursor.accept("."):
        what = "a protocol, stream or query behind '.'"
        quoted = cursor.token.kind == "string" and cursor.peek().kind == "."
        parts.append(cursor.advance() if quoted else cursor.name(what))
    return _qualified(cursor, parts)


def _first_part(cursor: Cursor) -> Token:
    if cursor.token.kind == "string" and cursor.peek().kind == ".":
        return cursor.advance()
    hint = None
    if cursor.token.kind == "string":
        hint = "a capture file is given on the command line: -r FILE"
    return cursor.expect("name", "a protocol, stream or query", hint)


def _qualified(cursor: Cursor, parts: list[Token]) -> Table:
    if len(parts) > 3:
        hint = "a source is written host.interface.protocol at most"
        message = "too many parts in a source's name"
        raise cursor.error("syntax", message, cursor.since(parts[0].start), hint)
    name = _library_path(cursor, parts[-1])
    interface = parts[-2] if len(parts) > 1 else None
    return Table(
        name,
        interface=None if interface is None else interface.text,
        host=parts[0].text if len(parts) == 3 else None,
        name_span=cursor.since(parts[-1].start),
        interface_span=NOWHERE if interface is None else cursor.span_of(interface),
    )


def _library_path(cursor: Cursor, first: Token) -> str:
    name = first.text
    while cursor.accept("/"):
        name += "/" + cursor.name("the name of a library query behind '/'").text
    return name


def _over_set(cursor: Cursor) -> Table:
    cursor.advance()
    chosen = cursor.name("an interface set")
    cursor.expect("]")
    cursor.expect(".", "'.' and a protocol behind the interface set", "[set].protocol")
    first = cursor.name("a protocol behind the interface set")
    name = _library_path(cursor, first)
    return Table(
        name,
        interface_set=chosen.text,
        name_span=cursor.since(first.start),
        interface_span=cursor.span_of(chosen),
    )


# Names of sources

_AFTER_ALIAS = CLAUSES | {",", ";", "end", "[", "UNION", "JOIN", "ON", ")"}


def _alias(cursor: Cursor) -> Token | None:
    if cursor.accept("AS"):
        return cursor.name("a name behind AS")
    if cursor.token.kind != "name" or at_block(cursor):
        return None
    if _words_before_join(cursor) is not None:
        return None
    following = cursor.peek().kind
    if cursor.is_word(*CLAUSE_WORDS) and (following == "SELECT" or following not in _AFTER_ALIAS):
        return None
    if following not in _AFTER_ALIAS and _is_misspelt_clause(cursor):
        return None
    return cursor.advance()


def _is_misspelt_clause(cursor: Cursor) -> bool:
    """In `FROM TCP WERE x = 1`, WERE is no name for TCP: report it, and read on as it was meant."""
    meant = cursor.misspelt((*CLAUSES, "JOIN", "UNION"))
    if meant is None:
        return False
    cursor.unexpected("a clause, ',' or ';'", f"did you mean {meant}?")
    cursor.read_as(meant)
    return True


# Windows


def parse_window(cursor: Cursor) -> Window:
    """Read `[RANGE 5 min, SLIDE 1 min, WA ts]`; the caller has seen that it begins here."""
    mark = cursor.mark()
    cursor.advance()
    parts: dict[str, object] = {}
    cursor.separated(lambda: _window_part(cursor, parts))
    cursor.expect("]", "',' or ']'", "[RANGE 5 min, SLIDE 1 min, WA ts]")
    return Window(**parts, span=cursor.since(mark))  # type: ignore[arg-type]


def _window_part(cursor: Cursor, parts: dict[str, object]) -> None:
    word = cursor.expect("name", "RANGE, SLIDE or WA")
    key = {"RANGE": "range", "SLIDE": "slide", "WA": "attribute"}.get(word.text.upper())
    span = cursor.span_of(word)
    if key is None:
        meant = closest(word.text, ("RANGE", "SLIDE", "WA"))
        hint = f"did you mean {meant}?" if meant else "[RANGE 5 min, SLIDE 1 min, WA ts]"
        message = f"expected RANGE, SLIDE or WA, found {word.describe()}"
        raise cursor.error("syntax", message, span, hint)
    if key in parts:
        raise cursor.error("duplicate-clause", f"a second {word.text.upper()}", span)
    what = "the window's attribute behind WA"
    parts[key] = parse_name(cursor, what) if key == "attribute" else _duration(cursor)


def _duration(cursor: Cursor) -> Duration:
    mark = cursor.mark()
    number = cursor.expect("number", "a whole number")
    unit = cursor.accept("name")
    span = cursor.since(mark)
    if not number.text.isdigit() or int(number.text[:20]) == 0:
        message = "the length of a window is a whole number above 0"
        hint = "use a smaller unit: 30 s for 0.5 min" if "." in number.text else None
        raise cursor.error("bad-literal", message, cursor.span_of(number), hint)
    if len(number.text) > 18:
        raise cursor.error("bad-literal", "the window is too long", span)
    return Duration(int(number.text), _unit(cursor, unit), span=span)


def _unit(cursor: Cursor, token: Token | None) -> str | None:
    if token is None:
        return None
    unit = _UNIT_OF.get(token.text.lower())
    if unit is not None:
        return unit
    hint = "units are ms, s, sec, min, hour, day, ROWS, or none"
    message = f"{token.describe()} is not a unit of time"
    raise cursor.error("syntax", message, cursor.span_of(token), hint)
