# SPDX-License-Identifier: Apache-2.0
"""`WITH name AS (query), …` before a query's SELECT or MERGE."""

from __future__ import annotations

from collections.abc import Callable

from gigastream.gsql.syntax.ast import CommonTable, MergeStatement, SelectStatement
from gigastream.gsql.syntax.blocks import at_block
from gigastream.gsql.syntax.cursor import Cursor, ParseError

Body = SelectStatement | MergeStatement
_SHAPE = "WITH recent AS (SELECT …) SELECT … FROM recent"


def at_with(cursor: Cursor) -> bool:
    """True if a WITH begins at the current token."""
    return cursor.is_word("WITH")


def parse_with(cursor: Cursor, body: Callable[[Cursor], Body]) -> tuple[CommonTable, ...]:
    """Read the queries of a WITH, each of which its own errors cost alone."""
    if not at_with(cursor):
        return ()
    cursor.advance()
    return cursor.separated(lambda: _table(cursor, body))


def _table(cursor: Cursor, body: Callable[[Cursor], Body]) -> CommonTable:
    mark = cursor.mark()
    name = cursor.name("a name behind WITH")
    cursor.expect("AS", hint=_SHAPE)
    opening = cursor.mark()
    cursor.expect("(", hint=_SHAPE)
    closing = cursor.closing_bracket()
    if closing is None:
        hint = "its query ends with ), not with ;"
        raise cursor.error("syntax", "this bracket is never closed", cursor.since(opening), hint)
    closing.kind = ";"  # the bracket ends this query as ';' does the others
    found = _guarded_body(cursor, body)
    closing.kind = ")"
    cursor.advance()
    return CommonTable(name.text, found, cursor.span_of(name), span=cursor.since(mark))


def _guarded_body(cursor: Cursor, body: Callable[[Cursor], Body]) -> Body:
    """The query, read up to its bracket; one of nothing after an error."""
    try:
        if at_block(cursor) or at_with(cursor):
            word = cursor.token.text.upper()
            message = f"{word} stands before the whole query, not within a WITH"
            cursor.error("syntax", message, cursor.span_of(cursor.token), _HINTS.get(word))
            raise ParseError
        found = body(cursor)
        if cursor.token.kind != ";":
            cursor.unexpected("')'")
            cursor.skip_to(())
        return found
    except ParseError:
        cursor.skip_to(())
        return SelectStatement((), ())


_HINTS = {"WITH": "write them side by side: WITH a AS (…), b AS (…)"}
