# SPDX-License-Identifier: Apache-2.0
"""Calls that SQL writes with words between their arguments, each read as the call with commas.

`extract(hour FROM x)` is `extract('hour', x)`, `position('y' IN x)` is `strpos(x, 'y')`.
"""

from __future__ import annotations

from collections.abc import Callable

from gigastream.gsql.syntax.ast import Literal, SyntaxExpression
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
    return None


def _at_text(cursor: Cursor) -> bool:
    """True at a text, a name, a parameter or a define with IN behind it."""
    tokens = 2 if cursor.token.kind in ("$", "#") else 1
    return cursor.peek(tokens).kind == "IN"
