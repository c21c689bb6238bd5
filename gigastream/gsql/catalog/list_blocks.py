# SPDX-License-Identifier: Apache-2.0
"""WATCHLIST blocks of definition files (GSQL section 6.10): read, then checked."""

from __future__ import annotations

from collections.abc import Callable

from gigastream.gsql.catalog.protocols import resolved_type
from gigastream.gsql.diagnostics import DiagnosticSink
from gigastream.gsql.durations import duration_ns
from gigastream.gsql.syntax.blocks import parse_block
from gigastream.gsql.syntax.cursor import Cursor
from gigastream.gsql.syntax.declarations import Attribute, FieldDeclaration, ListBlock
from gigastream.gsql.types import Type
from gigastream.gsql.watchlists import EVERY_S, MAX_COLUMNS, MAX_KEYS, ListColumn, Watchlist

SHAPE = "WATCHLIST name { type column [(key)]; } FROM 'file' [EVERY 10 s];"
_SECOND_NS = 1_000_000_000


def parse_list(cursor: Cursor, ended: Callable[[Cursor], bool]) -> ListBlock:
    """Read a block; the current token is WATCHLIST."""
    mark = cursor.mark()
    cursor.advance()
    name = cursor.name("the name of a watchlist")
    if cursor.token.kind != "{":
        raise cursor.unexpected("'{'", SHAPE)
    columns: list[FieldDeclaration] = []
    parse_block(cursor, columns, _column, ended)
    cursor.expect("FROM", "FROM and the list's file", SHAPE)
    path = cursor.expect("string", "the list's file, in quotes", SHAPE)
    every_s = _every(cursor) if cursor.accept_word("EVERY") else None
    spans = {"name_span": cursor.span_of(name), "span": cursor.since(mark)}
    return ListBlock(name.text, tuple(columns), path.text, every_s, **spans)


def _column(cursor: Cursor) -> FieldDeclaration:
    mark = cursor.mark()
    type_name = cursor.type_name("the type of a column")
    name = cursor.expect("name", "the name of a column")
    attributes: tuple[Attribute, ...] = ()
    if cursor.accept("("):
        word = cursor.token
        if not cursor.accept_word("KEY"):
            raise cursor.unexpected("key", SHAPE)
        attributes = (Attribute("key", span=cursor.span_of(word)),)
        cursor.expect(")")
    spans = {"name_span": cursor.span_of(name), "span": cursor.since(mark)}
    return FieldDeclaration(type_name, name.text, None, attributes, (), **spans)


def _every(cursor: Cursor) -> int:
    """Whole seconds."""
    mark = cursor.mark()
    number = cursor.expect("number", "how often the file is looked at, as 10 s")
    unit = cursor.accept("name")
    span = cursor.since(mark)
    try:
        length_ns = duration_ns(f"{number.text} {'s' if unit is None else unit.text}")
    except ValueError as error:
        raise cursor.error("bad-literal", str(error), span, "EVERY 10 s") from None
    if length_ns % _SECOND_NS or length_ns > 86_400 * _SECOND_NS:
        message = "a list is looked at every so many whole seconds, a day at most"
        raise cursor.error("bad-literal", message, span, "EVERY 10 s")
    return length_ns // _SECOND_NS


# What a block says


def checked_list(block: ListBlock, sink: DiagnosticSink) -> Watchlist | None:
    """The list that a block declares; None after errors."""
    errors = sink.error_count
    columns = tuple(_checked_column(column, sink) for column in block.fields)
    keys = [column for column in columns if column.is_key]
    if not keys and sink.error_count == errors:
        message = f"{block.name} has no key: nothing could be looked up in it"
        sink.error("bad-list", message, block.name_span, "IP address (key);")
    if len(keys) > MAX_KEYS or len(columns) > MAX_COLUMNS:
        message = f"a list has at most {MAX_COLUMNS} columns, {MAX_KEYS} of them keys"
        sink.error("bad-list", message, block.name_span)
    if not block.path or "\0" in block.path:
        sink.error("bad-list", f"{block.name} has no file", block.span, SHAPE)
    if sink.error_count > errors:
        return None
    every_s = EVERY_S if block.every_s is None else block.every_s
    return Watchlist(block.name, block.path, columns, every_s, span=block.name_span)


def _checked_column(column: FieldDeclaration, sink: DiagnosticSink) -> ListColumn:
    type_ = resolved_type(column.type, sink)
    is_key = bool(column.attributes)
    if type_ is not None and (type_ is Type.TIMESTAMP or type_.is_opaque):
        message = f"a list has no column of the type {type_}"
        sink.error("wrong-type", message, column.type.span, "numbers, bool, string, IP, IPV6, INET")
    elif type_ is Type.FLOAT and is_key:
        hint = "a key is a whole number, an address, a bool or a string"
        sink.error("wrong-type", "a float is no key", column.type.span, hint)
    return ListColumn(column.name, type_ or Type.STRING, is_key)
