# SPDX-License-Identifier: Apache-2.0
"""Definition files (GSQL.md §2): protocols, streams, functions; and interface sets (§6)."""

from __future__ import annotations

from collections.abc import Callable

from gigastream.gsql.catalog.functions import KINDS, parse_function, parse_predicate
from gigastream.gsql.catalog.list_blocks import parse_list
from gigastream.gsql.diagnostics import DiagnosticSink, did_you_mean, printable
from gigastream.gsql.syntax.ast import (
    Name,
    SyntaxNode,
)
from gigastream.gsql.syntax.blocks import parse_block
from gigastream.gsql.syntax.cursor import Cursor, ParseError
from gigastream.gsql.syntax.declarations import (
    Attribute,
    Definitions,
    FieldDeclaration,
    InterfaceSet,
    ProtocolBlock,
    Stream,
    UnpackFunction,
)
from gigastream.gsql.syntax.expressions import parse_expression
from gigastream.gsql.syntax.lexer import KEYWORDS, Token
from gigastream.gsql.syntax.parser import demand_shallow, open_text

ATTRIBUTES: dict[str, tuple[str, ...] | None] = {
    "increasing": (),
    "decreasing": (),
    "clock": ("s", "ms", "us", "ns"),
    "required": (),
    "snap_len": None,
    "subtype": None,
    "low_cardinality": (),
    "unlisted": (),
}
"""The attributes of a field, and the values each may have: none, one of these, or any (None)."""

_BLOCKS = ("PROTOCOL", "STREAM", "UNPACK_FCNS", "WATCHLIST")


def parse_definitions(text: str, file: str, sink: DiagnosticSink) -> Definitions:
    """Read a definition file; errors go to the sink, and what has none is returned."""
    cursor = open_text(text, file, sink)
    found: dict[str, list[SyntaxNode]] = {}
    while cursor is not None and cursor.token.kind != "end" and not sink.is_full:
        if not cursor.accept(";"):
            _definition(cursor, found)
    return Definitions(**{kind: tuple(nodes) for kind, nodes in found.items()})  # type: ignore[arg-type]


def _definition(cursor: Cursor, found: dict[str, list[SyntaxNode]]) -> None:
    errors = cursor.sink.error_count
    try:
        kind, nodes = _read(cursor)
    except ParseError:
        _skip(cursor)
        return
    if cursor.sink.error_count == errors:
        found.setdefault(kind, []).extend(nodes)


def _skip(cursor: Cursor) -> None:
    """Go on behind the definition that failed: its block, or its `;`."""
    cursor.skip_to({"{"})
    if cursor.token.kind != "{":
        return
    depth = 0
    while cursor.token.kind != "end":
        kind = cursor.advance().kind
        depth += {"{": 1, "}": -1}.get(kind, 0)
        if depth == 0:
            return


def _read(cursor: Cursor) -> tuple[str, list[SyntaxNode]]:
    """Read one definition; return the field of Definitions that it belongs to, and the nodes."""
    if cursor.is_word(*_BLOCKS):
        return _BLOCK_READERS[cursor.token.text.upper()](cursor)
    if cursor.is_word("PRED") and cursor.peek().kind in ("name", "["):
        return _ended(cursor, "predicates", parse_predicate(cursor))
    if cursor.token.kind == "name" and cursor.peek().kind == ":":
        return _ended(cursor, "interface_sets", _interface_set(cursor))
    if cursor.token.kind == "name" and cursor.peek().text.upper() in KINDS:
        kind = KINDS[cursor.peek().text.upper()]
        return _ended(cursor, kind, parse_function(cursor))
    raise _no_definition(cursor)


def _no_definition(cursor: Cursor) -> ParseError:
    hint = did_you_mean(cursor.token.text, (*_BLOCKS, "PRED"))
    behind = did_you_mean(cursor.peek().text, KINDS)
    if hint is None and cursor.token.kind == "name" and behind is not None:
        cursor.advance()
        return cursor.unexpected(f"one of {', '.join(KINDS)} behind the type", behind)
    return cursor.unexpected("a definition", hint)


def _ended(cursor: Cursor, kind: str, node: SyntaxNode) -> tuple[str, list[SyntaxNode]]:
    if cursor.token.kind != "end":
        cursor.expect(";", "';' behind the definition")
    return kind, [node]


def _at_next_block(cursor: Cursor) -> bool:
    """True if a definition begins here: the block before it was never closed."""
    if cursor.is_word("UNPACK_FCNS"):
        return cursor.peek().kind == "{"
    is_named = cursor.is_word("PROTOCOL", "STREAM", "WATCHLIST")
    return is_named and cursor.peek(2).kind in ("{", "(", "[")


# Protocols, streams, unpack functions


def _protocol(cursor: Cursor) -> tuple[str, list[SyntaxNode]]:
    mark = cursor.mark()
    cursor.advance()
    name = cursor.name("the name of a protocol")
    bases = _names(cursor, "(", ")", "a protocol to inherit from")
    unpack = _names(cursor, "[", "]", "an unpack function")
    fields: list[FieldDeclaration] = []
    _demand_block(cursor, "PROTOCOL name (base) { type field accessor (attributes); }")
    parse_block(cursor, fields, _packet_field, _at_next_block)
    spans = {"name_span": cursor.span_of(name), "span": cursor.since(mark)}
    return "protocols", [ProtocolBlock(name.text, bases, tuple(fields), unpack, **spans)]


def _stream(cursor: Cursor) -> tuple[str, list[SyntaxNode]]:
    mark = cursor.mark()
    cursor.advance()
    name = cursor.name("the name of a stream")
    fields: list[FieldDeclaration] = []
    _demand_block(cursor, "STREAM name { type field (attributes); }")
    parse_block(cursor, fields, _stream_field, _at_next_block)
    spans = {"name_span": cursor.span_of(name), "span": cursor.since(mark)}
    return "streams", [Stream(name.text, tuple(fields), **spans)]


def _unpack_functions(cursor: Cursor) -> tuple[str, list[SyntaxNode]]:
    cursor.advance()
    functions: list[UnpackFunction] = []
    _demand_block(cursor, "UNPACK_FCNS { name function cost; }")
    parse_block(cursor, functions, _unpack_function, _at_next_block)
    return "unpack_functions", list(functions)


def _watchlist(cursor: Cursor) -> tuple[str, list[SyntaxNode]]:
    return "watchlists", [parse_list(cursor, _at_next_block)]


_BLOCK_READERS: dict[str, Callable[[Cursor], tuple[str, list[SyntaxNode]]]] = {
    "PROTOCOL": _protocol,
    "STREAM": _stream,
    "UNPACK_FCNS": _unpack_functions,
    "WATCHLIST": _watchlist,
}


def _demand_block(cursor: Cursor, shape: str) -> None:
    if cursor.token.kind != "{":
        raise cursor.unexpected("'{'", shape)


def _names(cursor: Cursor, opening: str, closing: str, what: str) -> tuple[Name, ...]:
    if not cursor.accept(opening):
        return ()
    names = cursor.separated(lambda: cursor.name_node(what))
    cursor.expect(closing, f"',' or '{closing}'")
    return names


def _field_name(cursor: Cursor) -> Token:
    hint = None
    if cursor.token.kind in KEYWORDS:
        hint = f"{cursor.token.text} is a word of the language: no query could name the field"
    return cursor.expect("name", "the name of a field", hint)


def _packet_field(cursor: Cursor) -> FieldDeclaration:
    mark = cursor.mark()
    type_name = cursor.type_name("the type of a field")
    name = _field_name(cursor)
    shape = "type field accessor (attributes) [unpack functions];"
    if cursor.token.kind != "name":
        raise cursor.unexpected("the function that reads the field", shape)
    accessor = cursor.advance().text
    attributes = _attributes(cursor)
    unpack = _names(cursor, "[", "]", "an unpack function")
    spans = {"name_span": cursor.span_of(name), "span": cursor.since(mark)}
    return FieldDeclaration(type_name, name.text, accessor, attributes, unpack, **spans)


def _stream_field(cursor: Cursor) -> FieldDeclaration:
    mark = cursor.mark()
    type_name = cursor.type_name("the type of a field")
    name = _field_name(cursor)
    if cursor.token.kind == "name":
        raise cursor.unexpected("'(' or ';'", "a stream's field has no accessor function")
    attributes = _attributes(cursor)
    spans = {"name_span": cursor.span_of(name), "span": cursor.since(mark)}
    return FieldDeclaration(type_name, name.text, None, attributes, (), **spans)


def _unpack_function(cursor: Cursor) -> UnpackFunction:
    mark = cursor.mark()
    name = cursor.name("the name of an unpack function").text
    function = cursor.name("the C function that unpacks").text
    cost = cursor.expect("number", "the cost of the function, a whole number")
    if not (cost.text.isdigit() and len(cost.text) < 10):
        message = "the cost of the function is a whole number below 10^9"
        raise cursor.error("bad-literal", message, cursor.span_of(cost))
    return UnpackFunction(name, function, int(cost.text), span=cursor.since(mark))


# Attributes


def _attributes(cursor: Cursor) -> tuple[Attribute, ...]:
    if not cursor.accept("("):
        return ()
    attributes = cursor.separated(lambda: _attribute(cursor))
    cursor.expect(")", "',' or ')'")
    return attributes


def _attribute(cursor: Cursor) -> Attribute:
    mark = cursor.mark()
    name = cursor.name("an attribute").text.lower()
    value = None
    if cursor.token.kind in ("name", "number", "string"):
        value = cursor.advance().text
    attribute = Attribute(name, value, span=cursor.since(mark))
    _check_attribute(cursor, attribute)
    return attribute


def _check_attribute(cursor: Cursor, attribute: Attribute) -> None:
    if attribute.name not in ATTRIBUTES:
        message = f"'{printable(attribute.name)}' is not an attribute of a field"
        hint = did_you_mean(attribute.name, ATTRIBUTES)
        cursor.error("unknown-attribute", message, attribute.span, hint)
        return
    values = ATTRIBUTES[attribute.name]
    if values == () and attribute.value is not None:
        message = f"{attribute.name} takes no value"
        cursor.error("unknown-attribute", message, attribute.span)
    elif values is None and attribute.value is None:
        cursor.error("unknown-attribute", f"{attribute.name} needs a value", attribute.span)
    elif values and attribute.value not in values:
        message = f"{attribute.name} takes one of {', '.join(values)}"
        cursor.error("unknown-attribute", message, attribute.span)


# Interface sets


def _interface_set(cursor: Cursor) -> InterfaceSet:
    mark = cursor.mark()
    name = cursor.advance()
    cursor.advance()
    predicate = parse_expression(cursor)
    demand_shallow(cursor, predicate)
    spans = {"name_span": cursor.span_of(name), "span": cursor.since(mark)}
    return InterfaceSet(name.text, predicate, **spans)
