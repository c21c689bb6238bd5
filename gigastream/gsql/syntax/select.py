# SPDX-License-Identifier: Apache-2.0
"""The bodies of queries: SELECT with its clauses, and MERGE (GSQL.md §6)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from gigastream.gsql.diagnostics import closest, printable
from gigastream.gsql.other_sql import CLAUSE_WORDS
from gigastream.gsql.syntax.ast import (
    Binary,
    Broken,
    Cube,
    FromItem,
    GroupElement,
    GroupingSets,
    GroupItem,
    JoinClause,
    LimitClause,
    Literal,
    Logical,
    MergeStatement,
    Name,
    OrderItem,
    Rollup,
    SelectItem,
    SelectStatement,
    Star,
    SyntaxExpression,
    Unary,
    Window,
)
from gigastream.gsql.syntax.blocks import at_block
from gigastream.gsql.syntax.cursor import CLAUSES, Cursor, ParseError
from gigastream.gsql.syntax.expressions import at_window, parse_expression, parse_name
from gigastream.gsql.syntax.from_clause import (
    parse_filter_from,
    parse_from_list,
    parse_watchlist_from,
    parse_window,
)
from gigastream.gsql.syntax.literals import parse_number
from gigastream.late_dataclass import replace

_Part = TypeVar("_Part")

_JOINS = {
    "INNER_JOIN": "INNER",
    "LEFT_OUTER_JOIN": "LEFT_OUTER",
    "RIGHT_OUTER_JOIN": "RIGHT_OUTER",
    "OUTER_JOIN": "OUTER",
    "FILTER_JOIN": "FILTER",
    "WATCHLIST_JOIN": "WATCHLIST",
}


def parse_select(cursor: Cursor) -> SelectStatement:
    """Read a SELECT; the current token is that word."""
    mark = cursor.mark()
    cursor.advance()
    distinct = cursor.accept("DISTINCT") is not None
    errors = cursor.sink.error_count
    _refuse_before_list(cursor, distinct)
    items = _guarded(cursor, _select_list) or ()
    window = _guarded(cursor, parse_window) if at_window(cursor) else None
    join = _guarded(cursor, _join_clause)
    read = parse_from_list if join is None else _READ_FROM.get(join.kind, parse_from_list)
    sources: tuple[FromItem, ...] = ()
    from_window = None
    if cursor.token.kind == "FROM" or cursor.sink.error_count == errors:
        sources, from_window = _guarded(cursor, lambda at: _from_clause(at, read)) or ((), None)
    if window is not None and from_window is not None:
        hint = "keep the one behind the SELECT list or the one behind FROM"
        cursor.error("duplicate-clause", "a second window", from_window.span, hint)
    clauses = _clauses(cursor)
    select = SelectStatement(items, sources, distinct, join, window or from_window, **clauses)
    return replace(select, span=cursor.since(mark))


def _guarded(cursor: Cursor, read: Callable[[Cursor], _Part]) -> _Part | None:
    """Read a clause; after a failure go on at the next one and return None."""
    try:
        return read(cursor)
    except ParseError:
        cursor.skip_to(CLAUSES, hard=CLAUSES)
        return None


# The SELECT list


def _refuse_before_list(cursor: Cursor, distinct: bool) -> None:
    """Report and step over `DISTINCT ON (…)` and `TOP 10`."""
    if distinct and cursor.token.kind == "ON":
        cursor.unexpected("a column", "GROUP BY x, and first(y) of each group")
        cursor.advance()
        if cursor.accept("("):
            cursor.skip_to(")")
            cursor.accept(")")
    elif cursor.is_word("TOP") and cursor.peek().kind == "number":
        cursor.unexpected("a column", f"LIMIT {cursor.peek().text} at the end of the query")
        cursor.advance()
        cursor.advance()


def _select_list(cursor: Cursor) -> tuple[SelectItem, ...]:
    return cursor.separated(lambda: _select_item(cursor))


def _select_item(cursor: Cursor) -> SelectItem:
    mark = cursor.mark()
    try:
        if _at_star(cursor):
            return _star(cursor)
        expression = parse_expression(cursor)
        alias = cursor.name("a name behind AS").text if cursor.accept("AS") else None
        _demand_separator(cursor)
    except ParseError:
        return _broken_item(cursor, mark)
    return SelectItem(expression, alias, span=cursor.since(mark))


def _at_star(cursor: Cursor) -> bool:
    """True at `*` and `a.*`, which are no operands."""
    ahead = 0
    while cursor.peek(ahead).kind == "name" and cursor.peek(ahead + 1).kind == ".":
        ahead += 2
    return cursor.peek(ahead).kind == "*"


def _star(cursor: Cursor) -> SelectItem:
    mark = cursor.mark()
    qualifier = []
    while not cursor.accept("*"):
        qualifier.append(cursor.advance().text)
        cursor.advance()
    span = cursor.since(mark)
    _demand_separator(cursor)
    return SelectItem(Star(tuple(qualifier), span=span), span=span)


def _demand_separator(cursor: Cursor) -> None:
    if cursor.token.kind in (",", ";", "end", *CLAUSES) or at_window(cursor):
        return
    known = _of_other_sql(cursor)
    meant = None if known else cursor.misspelt(("FROM", "AS", "AND", "OR", *_JOINS))
    hint = f"did you mean {meant}?" if meant else known
    if cursor.token.kind == "name" and hint is None:
        hint = f"a column gets a name with AS: … AS {printable(cursor.token.text)}"
    failure = cursor.unexpected("',' or FROM", hint)
    if known:
        _step_over(cursor)
    if meant not in CLAUSES:
        raise failure
    cursor.read_as(meant)


def _of_other_sql(cursor: Cursor) -> str | None:
    """What is written instead of the word here, if it is one of SQL's that GSQL has not."""
    return CLAUSE_WORDS.get(cursor.token.text.upper()) if cursor.token.kind == "name" else None


def _step_over(cursor: Cursor) -> None:
    """Step over such a word up to the next clause; what is in its brackets are no clauses."""
    word = cursor.advance().text.upper()
    while cursor.token.kind in _BELONGS.get(word, ()):
        cursor.advance()
    if cursor.token.kind == "SELECT":  # EXCEPT SELECT …
        cursor.skip_to(())
    cursor.skip_to((",", ")", *CLAUSES))


_BELONGS = {"WITHIN": ("GROUP",), "IS": ("NOT", "DISTINCT", "FROM")}
"""Keywords that follow such a word, and begin no clause there."""


def _broken_item(cursor: Cursor, mark: int) -> SelectItem:
    cursor.skip_to({","}, hard=CLAUSES)
    span = cursor.since(mark)
    return SelectItem(Broken(span=span), span=span)


# What stands before FROM, and FROM


def _join_clause(cursor: Cursor) -> JoinClause | None:
    kind = _JOINS.get(cursor.token.kind)
    if kind is None:
        return None
    mark = cursor.mark()
    cursor.advance()
    if kind != "FILTER":
        return JoinClause(kind, span=cursor.since(mark))
    shape = "FILTER_JOIN(column, ticks)"
    cursor.expect("(", hint=shape)
    column = parse_name(cursor, "a temporal column")
    cursor.expect(",", "',' and a number of ticks", shape)
    ticks = parse_expression(cursor)
    cursor.expect(")", hint=shape)
    return JoinClause(kind, column, ticks, span=cursor.since(mark))


_From = tuple[tuple[FromItem, ...], Window | None]
_READ_FROM = {"FILTER": parse_filter_from, "WATCHLIST": parse_watchlist_from}


def _from_clause(cursor: Cursor, read: Callable[[Cursor], _From] = parse_from_list) -> _From:
    hint = "every query says what it reads: FROM IPV4"
    if any(cursor.is_behind(word) for word in _JOINS):
        hint = "what is joined stands behind FROM: INNER_JOIN FROM A a, B b"
    cursor.expect("FROM", hint=hint)
    sources = read(cursor)
    if cursor.token.kind in _JOINS:
        hint = f"write SELECT … {cursor.token.text} FROM A a, B b, or FROM A a JOIN B b ON …"
        raise cursor.unexpected("',', a clause or ';'", hint)
    _end_clause(cursor, "',', a clause")
    return sources


# The clauses behind FROM, in the order in which they stand


def _clauses(cursor: Cursor) -> dict[str, Any]:
    found: dict[str, Any] = {}
    last = -1
    while (kind := cursor.token.kind) in _CLAUSES:
        rank, key, read = _CLAUSES[kind]
        _demand_order(cursor, key in found, rank < last)
        last = max(last, rank)
        value = _guarded(cursor, read)
        found[key] = _BROKEN_CLAUSES.get(key, Broken()) if value is None else value
    return found


_BROKEN_CLAUSES: dict[str, tuple[GroupItem, ...] | LimitClause] = {
    "limit": LimitClause(Broken()),
    "group_by": (GroupItem(Broken()),),
    "supergroup": (),
    "order_by": (),
}
"""What stands for a clause that could not be read, so that nobody complains of its absence."""


def _demand_order(cursor: Cursor, repeated: bool, early: bool) -> None:
    if cursor.has_complained:
        return
    span = cursor.span_of(cursor.token)
    word = cursor.token.kind
    if repeated:
        hint = "join the conditions with AND" if word in ("WHERE", "HAVING") else None
        cursor.error("duplicate-clause", f"a second {word}", span, hint)
    elif early:
        order = ", ".join(_CLAUSES).replace("GROUP,", "GROUP BY,", 1).replace("ORDER", "ORDER BY")
        message = f"{word} stands too late"
        cursor.error("clause-order", message, span, f"the order is FROM, {order}")


def _condition(cursor: Cursor) -> SyntaxExpression:
    cursor.advance()
    try:
        condition = parse_expression(cursor)
        _end_clause(cursor, "an operator, a clause", "BETWEEN", "LIKE", "ILIKE")
        return condition
    except ParseError:
        cursor.skip_to({"AND", "OR"}, hard=CLAUSES)
        return _rest(_condition(cursor)) if cursor.token.kind in ("AND", "OR") else Broken()


def _rest(condition: SyntaxExpression) -> SyntaxExpression:
    """What stands behind an AND that may be of a BETWEEN: a value there is no condition."""
    values = Literal | Binary | Unary
    if isinstance(condition, values):
        return Broken()
    if isinstance(condition, Logical) and isinstance(condition.operands[0], values):
        return replace(condition, operands=(Broken(), *condition.operands[1:]))
    return condition


def _end_clause(cursor: Cursor, what: str, *words: str) -> None:
    """A clause is followed by another, or by the end of the query."""
    if cursor.token.kind in (";", "end") or cursor.token.kind in CLAUSES or at_block(cursor):
        return
    known = _of_other_sql(cursor)
    meant = None if known else cursor.misspelt((*CLAUSES, "AND", "OR", *words))
    hint = f"did you mean {meant}?" if meant else known
    failure = cursor.unexpected(f"{what} or ';'", hint)
    if known:
        _step_over(cursor)
    if meant not in CLAUSES:
        raise failure
    cursor.read_as(meant)


def _group_by(cursor: Cursor) -> tuple[GroupElement, ...]:
    cursor.advance()
    cursor.expect("BY", hint="GROUP BY")
    if cursor.is_word("ALL") and cursor.peek().kind in (";", "end", *CLAUSES):
        hint = "name each of them: GROUP BY time/60 AS tb, srcIP"
        failure = cursor.unexpected("a group variable", hint)
        cursor.advance()
        raise failure
    elements = cursor.separated(lambda: _group_element(cursor))
    _end_clause(cursor, "',', a clause")
    return elements


def _group_element(cursor: Cursor) -> GroupElement:
    mark = cursor.mark()
    if cursor.is_word("CUBE", "ROLLUP") and cursor.peek().kind == "(":
        node = Cube if cursor.advance().text.upper() == "CUBE" else Rollup
        return node(_group_list(cursor), span=cursor.since(mark))
    if cursor.is_word("GROUPING_SETS") and cursor.peek().kind == "(":
        cursor.advance()
        cursor.advance()
        sets = cursor.separated(lambda: _group_list(cursor))
        cursor.expect(")", "',' or ')'", "GROUPING_SETS((a, b), (a))")
        return GroupingSets(sets, span=cursor.since(mark))
    return _group_item(cursor)


def _group_list(cursor: Cursor) -> tuple[GroupItem, ...]:
    cursor.expect("(", hint="GROUPING_SETS((a, b), (a))")
    if cursor.accept(")"):
        return ()
    items = cursor.separated(lambda: _group_item(cursor))
    cursor.expect(")", "',' or ')'")
    return items


def _group_item(cursor: Cursor) -> GroupItem:
    mark = cursor.mark()
    if cursor.is_word("CUBE", "ROLLUP", "GROUPING_SETS") and cursor.peek().kind == "(":
        hint = "write them side by side: CUBE(a, b), ROLLUP(c)"
        raise cursor.unexpected("a group variable", hint)
    expression = parse_expression(cursor)
    alias = cursor.name("a name behind AS").text if cursor.accept("AS") else None
    if alias is None and cursor.token.kind == "name" and cursor.peek().kind in _AFTER_GROUP:
        hint = f"a group variable gets a name with AS: … AS {printable(cursor.token.text)}"
        cursor.unexpected("AS", hint)
        alias = cursor.advance().text
    return GroupItem(expression, alias, span=cursor.since(mark))


_AFTER_GROUP = frozenset((",", ")", ";", "end", *CLAUSES))


def _supergroup(cursor: Cursor) -> tuple[Name, ...]:
    cursor.advance()
    cursor.accept("BY")
    names = cursor.separated(lambda: parse_name(cursor, "a group variable"))
    _end_clause(cursor, "',', a clause")
    return names


def _order_by(cursor: Cursor) -> tuple[OrderItem, ...]:
    cursor.advance()
    cursor.expect("BY", hint="ORDER BY")
    items = cursor.separated(lambda: _order_item(cursor))
    _end_clause(cursor, "',', ASC, DESC, LIMIT", "ASC", "DESC")
    return items


def _order_item(cursor: Cursor) -> OrderItem:
    mark = cursor.mark()
    expression = parse_expression(cursor)
    descending = cursor.accept_word("DESC") is not None
    if not descending:
        cursor.accept_word("ASC")
    return OrderItem(expression, descending, span=cursor.since(mark))


def _limit(cursor: Cursor) -> LimitClause:
    mark = cursor.mark()
    cursor.advance()
    count = _count(cursor)
    per: tuple[SyntaxExpression, ...] = ()
    if cursor.accept_word("PER"):
        per = cursor.separated(lambda: parse_expression(cursor))
    _end_clause(cursor, "',', the end of the query" if per else "PER, the end of the query", "PER")
    return LimitClause(count, per, span=cursor.since(mark))


def _count(cursor: Cursor) -> SyntaxExpression:
    if cursor.token.kind == "$":
        limit = parse_expression(cursor)
    elif cursor.token.kind == "number":
        limit = parse_number(cursor)
        if limit.kind != "int":
            message = "LIMIT takes a whole number"
            raise cursor.error("bad-literal", message, limit.span)
    else:
        raise cursor.unexpected("a whole number behind LIMIT")
    return limit


_CLAUSES: dict[str, tuple[int, str, Callable[[Cursor], Any]]] = {
    "WHERE": (0, "where", _condition),
    "GROUP": (1, "group_by", _group_by),
    "SUPERGROUP": (2, "supergroup", _supergroup),
    "HAVING": (3, "having", _condition),
    "CLEANING_WHEN": (4, "cleaning_when", _condition),
    "CLEANING_BY": (5, "cleaning_by", _condition),
    "CLOSING_WHEN": (6, "closing_when", _condition),
    "ORDER": (7, "order_by", _order_by),
    "LIMIT": (8, "limit", _limit),
}


# MERGE


def parse_merge(cursor: Cursor) -> MergeStatement:
    """Read a MERGE; the current token is that word."""
    mark = cursor.mark()
    cursor.advance()
    columns = _guarded(cursor, _merge_columns) or ()
    slack = _guarded(cursor, parse_expression) if cursor.accept_word("SLACK") else None
    sources, window = _guarded(cursor, _from_clause) or ((), None)
    if window is not None:
        cursor.error("syntax", "a MERGE has no window", window.span)
    if cursor.token.kind in _CLAUSES:
        hint = "a MERGE has no clauses: filter or aggregate in a query that reads it"
        cursor.unexpected("';'", hint)
    return MergeStatement(columns, sources, slack, span=cursor.since(mark))


def _merge_columns(cursor: Cursor) -> tuple[Name, ...]:
    shape = "MERGE a.t : b.t FROM A a, B b"
    first = parse_name(cursor, "a temporal column of the first source")
    cursor.expect(":", "':' and the column of the next source", shape)
    what = "a temporal column of the next source"
    rest = cursor.separated(lambda: parse_name(cursor, what), ":")
    if cursor.token.kind != "FROM" and not cursor.is_word("SLACK"):
        meant = closest(cursor.token.text, ("SLACK", "FROM"))
        raise cursor.unexpected("':', SLACK or FROM", f"did you mean {meant}?" if meant else None)
    return (first, *rest)
