# SPDX-License-Identifier: Apache-2.0
"""What SQL writes otherwise: calls with words between their arguments, casts, texts with a type.

`extract(hour FROM x)` is `extract('hour', x)`, `position('y' IN x)` is `strpos(x, 'y')`,
`substring(x FROM 2 FOR 3)` is `substring(x, 2, 3)`, `trim(LEADING 'y' FROM x)` is `ltrim(x, 'y')`.
`x::type` and `INTERVAL '1 hour'` are errors, behind which reading goes on.
"""

from __future__ import annotations

from collections.abc import Callable

from gigastream.gsql.other_sql import typed_text_hint
from gigastream.gsql.syntax.ast import Broken, CastExpression, Literal, SyntaxExpression
from gigastream.gsql.syntax.cursor import Cursor

Read = Callable[[Cursor, int], SyntaxExpression]
"""What reads an expression of operators that bind tighter than a power."""


def worded_call(
    cursor: Cursor, name: str, read: Read, tight: int
) -> tuple[str, tuple[SyntaxExpression, ...]] | None:
    """The function and its arguments; None, and nothing read, at what has commas."""
    word = name.lower()
    if word == "extract" and cursor.token.kind == "name" and cursor.peek().kind == "FROM":
        part = cursor.advance()
        cursor.advance()
        unit = Literal("string", part.text, span=cursor.span_of(part))
        return name, (unit, read(cursor, 0))
    if word == "position" and _at_text(cursor):
        part_of = read(cursor, tight)
        cursor.advance()
        return "strpos", (read(cursor, 0), part_of)
    if word == "substring" and _at_text(cursor, "FROM"):
        text = read(cursor, 0)
        cursor.advance()
        start = read(cursor, 0)
        return name, (text, start, read(cursor, 0)) if cursor.accept_word("FOR") else (text, start)
    if word == "trim":
        return _trim(cursor, read)
    return None


_TRIMS = {"BOTH": "trim", "LEADING": "ltrim", "TRAILING": "rtrim"}


def _trim(cursor: Cursor, read: Read) -> tuple[str, tuple[SyntaxExpression, ...]] | None:
    """Read `trim(LEADING 'y' FROM x)`, of which the word or the text may be left out."""
    is_worded = cursor.is_word(*_TRIMS) and cursor.peek().kind not in (",", ")", ".")
    if not is_worded and not _at_text(cursor, "FROM"):
        return None
    name = _TRIMS[cursor.advance().text.upper()] if is_worded else "trim"
    taken = () if cursor.token.kind == "FROM" else (read(cursor, 0),)
    cursor.expect("FROM", hint="trim(LEADING 'y' FROM x), ltrim(x, 'y')")
    return name, (read(cursor, 0), *taken)


def _at_text(cursor: Cursor, word: str = "IN") -> bool:
    """True at a text, a name, a parameter or a define with this word behind it."""
    tokens = 2 if cursor.token.kind in ("$", "#") else 1
    return cursor.peek(tokens).kind == word


def cast_behind(cursor: Cursor, operand: SyntaxExpression, mark: int) -> SyntaxExpression:
    """Report `x::type`, which is read as the CAST that is meant; a MERGE has one `:`."""
    if cursor.peek().kind != ":" or cursor.peek(2).kind != "name":
        return operand
    span = cursor.span_of(cursor.token)
    hint = f"CAST({cursor.since(mark).text} AS {cursor.peek(2).text})"
    cursor.error("syntax", "'::' is not an operator of GSQL", span, hint)
    cursor.advance()
    cursor.advance()
    return CastExpression(operand, cursor.type_name(), span=cursor.since(mark))


def typed_text(cursor: Cursor) -> Broken:
    """Report `INTERVAL '1 hour'`, `INTERVAL 1 HOUR`, `TIMESTAMP '…'`, and go on behind it."""
    word = cursor.advance()
    text = cursor.advance()
    whole = text.text
    if text.kind == "number" and (unit := cursor.accept("name")) is not None:
        whole = f"{text.text} {unit.text}"
    span = cursor.since(word.start)
    message = f"there are no values of {word.text.upper()}"
    cursor.error("syntax", message, span, typed_text_hint(word.text, whole))
    return Broken(span=span)
