# SPDX-License-Identifier: Apache-2.0
"""The PARAM and DEFINE blocks before a query (GSQL.md §1)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from gigastream.gsql.diagnostics import closest, printable
from gigastream.gsql.source import Span
from gigastream.gsql.syntax.ast import (
    DefineEntry,
    ParameterDeclaration,
    SyntaxExpression,
    Unary,
)
from gigastream.gsql.syntax.cursor import CLAUSES, Cursor, ParseError
from gigastream.gsql.syntax.declarations import (
    FieldDeclaration,
    UnpackFunction,
)
from gigastream.gsql.syntax.lexer import KEYWORDS
from gigastream.gsql.syntax.literals import at_literal, parse_literal, parse_number
from gigastream.gsql.types import Type

OPTIONS = (
    *("query_name", "aggregate_slots", "flush", "slow_flush", "max_lfta_disorder", "real_time"),
    *("select_lfta", "lfta_aggregation", "no_temporal_aggr", "algorithm", "num_bloom"),
    *("bloom_size", "visibility", "comment", "title", "namespace", "outer_default", "decapsulate"),
    *("in_order", "max_silence", "defragment", "tcp_order"),
)
"""The names in DEFINE that mean something; every other one is a string constant `#name`."""

SWITCHES = (
    *("real_time", "select_lfta", "lfta_aggregation", "no_temporal_aggr", "in_order"),
    *("defragment", "tcp_order"),
)
"""Options that are on when they stand without a value."""

_Entry = TypeVar("_Entry", ParameterDeclaration, DefineEntry, FieldDeclaration, UnpackFunction)


def parse_blocks(
    cursor: Cursor,
) -> tuple[tuple[ParameterDeclaration, ...], tuple[DefineEntry, ...]]:
    """Read the blocks, in either order, of which each may be missing."""
    parameters: list[ParameterDeclaration] = []
    defines: list[DefineEntry] = []
    seen: set[str] = set()
    while _begins(cursor):
        if _word(cursor, seen) == "PARAM":
            parse_block(cursor, parameters, _parameter, _at_clause)
        else:
            parse_block(cursor, defines, _define, _at_clause)
    return tuple(parameters), tuple(defines)


def at_block(cursor: Cursor) -> bool:
    """True if a PARAM or DEFINE block begins at the current token."""
    return cursor.is_word("PARAM", "DEFINE") and cursor.peek().kind == "{"


def _begins(cursor: Cursor) -> bool:
    """True at a block, though its word is misspelt, or that or its `{` is missing."""
    if cursor.token.kind == "name" and cursor.peek().kind == "{":
        return True
    return cursor.token.kind == "{" or cursor.is_word("PARAM", "DEFINE")


def _word(cursor: Cursor, seen: set[str]) -> str:
    """Step over the word of a block; one that is misspelt, or missing, is reported."""
    word = cursor.token
    name = word.text.upper()
    if cursor.token.kind == "{" or name not in ("DEFINE", "PARAM"):
        name = cursor.misspelt(("DEFINE", "PARAM")) or "DEFINE"
        cursor.unexpected("DEFINE or PARAM", f"{name} {{ … }}")
    if name in seen:
        hint = "put its lines into the first one; queries are separated by ';'"
        cursor.error("duplicate-clause", f"a second {name} block", cursor.span_of(word), hint)
    seen.add(name)
    cursor.accept("name")
    return name


def parse_block(
    cursor: Cursor,
    entries: list[_Entry],
    read: Callable[[Cursor], _Entry],
    ended: Callable[[Cursor], bool],
) -> None:
    """Read `{ entry; … }`; a bad entry costs itself only. The last `;` may be missing.

    `ended` says that the current token cannot be an entry's: the block was never closed.
    """
    opening = cursor.accept("{")
    if opening is None:
        cursor.unexpected("'{'")
    names: set[str] = set()
    while not cursor.accept("}"):
        if cursor.token.kind == "end" or ended(cursor):
            if opening is not None:
                span = cursor.span_of(opening)
                cursor.error("unterminated-block", "this block has no end", span, "end it with }")
            return
        entry = _entry(cursor, read)
        if entry is not None:
            _refuse_twin(cursor, entry, names)
            entries.append(entry)


def _refuse_twin(cursor: Cursor, entry: _Entry, names: set[str]) -> None:
    if entry.name.lower() in names:
        message = f"'{printable(entry.name)}' stands here twice"
        cursor.error("duplicate-name", message, entry.span)
    names.add(entry.name.lower())


def _at_clause(cursor: Cursor) -> bool:
    return cursor.token.kind in CLAUSES and not _is_meant_as_name(cursor)


def _is_meant_as_name(cursor: Cursor) -> bool:
    """True where a keyword stands as `from uint 5;` or `from 'x';` do."""
    if cursor.token.kind not in KEYWORDS:
        return False
    first, second = cursor.peek(1), cursor.peek(2)
    has_end = second.kind in (";", "}")
    if first.kind in ("string", "number"):
        return has_end
    is_type = first.kind == "name" and first.text.upper() in Type.__members__
    if cursor.token.kind == "SELECT":  # of `SELECT a;` an unclosed block is likelier
        return is_type and (has_end or second.kind in ("string", "number"))
    return first.kind == "name" and (has_end or is_type)


def _entry_name(cursor: Cursor, what: str) -> str:
    """The name of an entry; a word of the language that was meant as one is reported and taken."""
    if not _is_meant_as_name(cursor):
        return cursor.name(what).text
    hint = f"{cursor.token.text} is a word of the language: choose another name"
    cursor.unexpected(what, hint)
    return cursor.advance().text


def _entry(cursor: Cursor, read: Callable[[Cursor], _Entry]) -> _Entry | None:
    try:
        entry = read(cursor)
        if cursor.token.kind != "}":
            cursor.expect(";")
        return entry
    except ParseError:
        cursor.skip_to({"}"}, hard=CLAUSES if read in (_parameter, _define) else ())
        cursor.accept(";")
        return None


# PARAM


def _parameter(cursor: Cursor) -> ParameterDeclaration:
    mark = cursor.mark()
    name = _entry_name(cursor, "the name of a parameter")
    type_name = cursor.type_name("the parameter's type")
    default = None if cursor.token.kind in (";", "}") else _default(cursor)
    return ParameterDeclaration(name, type_name, default, span=cursor.since(mark))


def _default(cursor: Cursor) -> SyntaxExpression:
    mark = cursor.mark()
    if cursor.accept("-") and cursor.token.kind == "number":
        return Unary("-", parse_number(cursor), span=cursor.since(mark))
    if at_literal(cursor):
        return parse_literal(cursor)
    raise cursor.unexpected("a literal, the default, or ';'")


# DEFINE


def _define(cursor: Cursor) -> DefineEntry:
    mark = cursor.mark()
    name = _entry_name(cursor, "the name of an option or constant")
    name_span = cursor.since(mark)
    _warn_of_misspelling(cursor, name, name_span)
    value = _value(cursor, name)
    value_span = cursor.since(value[0])
    return DefineEntry(name, value[1], value_span, span=cursor.since(mark))


def _warn_of_misspelling(cursor: Cursor, name: str, span: Span) -> None:
    if name.lower() in OPTIONS:
        return
    meant = closest(name, OPTIONS)
    if meant is not None:
        message = f"'{printable(name)}' is not an option, so it defines the constant #{name}"
        cursor.sink.warning("misspelt-option", message, span, f"did you mean {meant}?")


def _value(cursor: Cursor, name: str) -> tuple[int, str]:
    """Return where the value begins, and the value."""
    mark = cursor.mark()
    if cursor.token.kind in (";", "}"):
        if name.lower() in SWITCHES:
            return mark, "true"
        raise cursor.unexpected(f"a value for {printable(name)}")
    if cursor.token.kind == "string":
        return mark, cursor.advance().text
    return mark, _bare_value(cursor)


def _bare_value(cursor: Cursor) -> str:
    """Read `vxlan,gre` or `-5` or `a/b`: tokens without space between them."""
    mark = cursor.mark()
    while cursor.token.kind not in (";", "}", "end"):
        token = cursor.advance()
        if cursor.token.kind in (";", "}", "end"):
            break
        if cursor.token.start != token.end:
            hint = "write ';' behind the value, or quote a value of several words"
            raise cursor.unexpected("';'", hint)
    return cursor.since(mark).text
