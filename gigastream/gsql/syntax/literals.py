# SPDX-License-Identifier: Apache-2.0
"""Literals (GSQL.md §3): numbers, texts, HEX'…', IP_VAL'…', IPV6_VAL'…' and prefixes."""

from __future__ import annotations

from gigastream.gsql.diagnostics import printable
from gigastream.gsql.source import Span
from gigastream.gsql.syntax.ast import Literal
from gigastream.gsql.syntax.cursor import Cursor, ParseError
from gigastream.gsql.syntax.lexer import Token

_CONSTANTS = {"TRUE": ("bool", True), "FALSE": ("bool", False), "NULL": ("null", None)}
_QUOTED = ("HEX", "LHEX", "IP_VAL", "IPV6_VAL")


def at_literal(cursor: Cursor) -> bool:
    """True if a literal begins at the current token."""
    kind = cursor.token.kind
    return kind in ("number", "string") or kind in _CONSTANTS or _at_quoted(cursor)


def parse_literal(cursor: Cursor) -> Literal:
    """Read a literal; the caller has seen that one begins here."""
    kind = cursor.token.kind
    if kind == "number":
        return parse_number(cursor)
    if kind == "string":
        token = cursor.advance()
        return Literal("string", token.text, span=cursor.span_of(token))
    if kind in _CONSTANTS:
        token = cursor.advance()
        return Literal(*_CONSTANTS[kind], span=cursor.span_of(token))
    return _quoted(cursor)


def parse_number(cursor: Cursor) -> Literal:
    """Read an unsigned number."""
    token = cursor.advance()
    if cursor.token.kind == "name" and cursor.token.start == token.end:
        raise _glued(cursor, token)
    span = cursor.span_of(token)
    if token.text.endswith("L"):
        return _suffixed(cursor, token, span)
    if token.text.isdigit():
        return Literal("int", _within(cursor, token.text, 64, span), span=span)
    return Literal("float", _finite(cursor, token.text, span), span=span)


def _glued(cursor: Cursor, token: Token) -> ParseError:
    follower = cursor.advance()
    text = token.text + follower.text
    hint = None
    if token.text == "0" and follower.text[0] in "xX":
        hint = f"write HEX'{printable(follower.text[1:], 20)}'"
    span = Span(cursor.source, token.start, follower.end)
    return cursor.error("bad-literal", f"'{printable(text)}' is not a number", span, hint)


def _suffixed(cursor: Cursor, token: Token, span: Span) -> Literal:
    digits = token.text.rstrip("UL")
    if not digits.isdigit():
        message = f"'{printable(token.text)}' is not a number"
        raise cursor.error("bad-literal", message, span, "only whole numbers end in UL or ULL")
    kind, bits = ("ullong", 64) if token.text.endswith("ULL") else ("uint", 32)
    return Literal(kind, _within(cursor, digits, bits, span), span=span)


def _within(cursor: Cursor, digits: str, bits: int, span: Span) -> int:
    if len(digits) <= 20 and int(digits) < 1 << bits:
        return int(digits)
    message = f"{printable(digits, 30)} does not fit in {bits} bits"
    hint = f"the greatest is {(1 << bits) - 1}"
    raise cursor.error("bad-literal", message, span, hint)


def _finite(cursor: Cursor, text: str, span: Span) -> float:
    value = float(text)
    if value == float("inf"):
        raise cursor.error("bad-literal", f"{printable(text)} does not fit in a float", span)
    return value


# HEX'…', LHEX'…', IP_VAL'…', IPV6_VAL'…'


def _at_quoted(cursor: Cursor) -> bool:
    """True at the word before a text; one that is misspelt stands close to it."""
    text = cursor.peek()
    if text.kind != "string" or cursor.is_word(*_QUOTED):
        return text.kind == "string"
    return text.start == cursor.token.end and cursor.misspelt(_QUOTED) is not None


def _quoted(cursor: Cursor) -> Literal:
    mark = cursor.mark()
    word = cursor.token.text.upper()
    if word not in _QUOTED:
        word = cursor.misspelt(_QUOTED) or word
        cursor.unexpected("a literal", f"did you mean {word}?")
    cursor.advance()
    text = cursor.advance().text.strip()
    span = cursor.since(mark)
    if word in ("HEX", "LHEX"):
        return _hex(cursor, word, text, span)
    return _address(cursor, word, text, span)


def _hex(cursor: Cursor, word: str, text: str, span: Span) -> Literal:
    digits = 8 if word == "HEX" else 16
    if not 1 <= len(text) <= digits or text.strip("0123456789abcdefABCDEF"):
        message = f"'{printable(text)}' is not 1 to {digits} hexadecimal digits"
        hint = "LHEX'…' takes up to 16" if word == "HEX" and 8 < len(text) <= 16 else None
        raise cursor.error("bad-literal", message, span, hint)
    return Literal(word.lower(), int(text, 16), span=span)


def _address(cursor: Cursor, word: str, text: str, span: Span) -> Literal:
    kind, bits, read = ("ip", 32, _ipv4) if word == "IP_VAL" else ("ipv6", 128, _ipv6)
    written, slash, tail = text.partition("/")
    address = read(written)
    if address is None:
        raise cursor.error("bad-literal", *_not_an_address(word, written, span))
    if not slash:
        return Literal(kind, address, span=span)
    length = _prefix_length(cursor, tail, bits, span)
    _demand_network(cursor, kind, address, length, bits, span)
    return Literal(kind + "_prefix", (address, length), span=span)


def _not_an_address(word: str, text: str, span: Span) -> tuple[str, Span, str | None]:
    version = "4" if word == "IP_VAL" else "6"
    other = "IPV6_VAL" if word == "IP_VAL" else "IP_VAL"
    fits = (_ipv6 if version == "4" else _ipv4)(text) is not None
    hint = f"write {other}'{text}'" if fits else None
    return f"'{printable(text)}' is not an IPv{version} address", span, hint


def _prefix_length(cursor: Cursor, text: str, bits: int, span: Span) -> int:
    if text.isascii() and text.isdigit() and len(text) <= 3 and int(text) <= bits:
        return int(text)
    message = f"'{printable(text)}' is not a prefix length from 0 to {bits}"
    raise cursor.error("bad-literal", message, span)


def _demand_network(
    cursor: Cursor, kind: str, address: int, length: int, bits: int, span: Span
) -> None:
    """A prefix with host bits set is a slip: whether the address or the length is not known."""
    network = address >> (bits - length) << (bits - length)
    if network == address:
        return
    word = "IP_VAL" if kind == "ip" else "IPV6_VAL"
    message = f"the address has bits beyond the first {length}"
    hint = f"write {word}'{format_address(kind, network)}/{length}'"
    raise cursor.error("bad-literal", message, span, hint)


def _ipv4(text: str) -> int | None:
    parts = text.split(".")
    if len(parts) != 4 or not all(_is_octet(part) for part in parts):
        return None
    return int.from_bytes(bytes(int(part) for part in parts), "big")


def _is_octet(text: str) -> bool:
    if not (text.isascii() and text.isdigit() and len(text) <= 3 and int(text) <= 255):
        return False
    return text == "0" or text[0] != "0"


def _ipv6(text: str) -> int | None:
    from ipaddress import AddressValueError, IPv6Address  # slow to import, seldom needed

    if "%" in text:
        return None
    try:
        return int(IPv6Address(text))
    except AddressValueError:
        return None


def format_address(kind: str, address: int) -> str:
    """Return an address (kind `ip` or `ipv6`) as text."""
    if kind == "ip":
        return ".".join(str(octet) for octet in address.to_bytes(4, "big"))
    from ipaddress import IPv6Address

    return str(IPv6Address(address))
