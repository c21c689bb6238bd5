# SPDX-License-Identifier: Apache-2.0
"""From text to trees: expressions, loosest first: OR, AND, NOT, comparison, arithmetic, unary."""

from __future__ import annotations

import ipaddress

from tests.answers.reference.cursor import Cursor
from tests.answers.reference.syntax import (
    Call,
    Case,
    Cast,
    Literal,
    Membership,
    Name,
    Node,
    Operation,
    Parameter,
    Prefix,
)
from tests.answers.reference.tokens import Token

LEVELS: tuple[tuple[str, ...], ...] = (
    ("|",),
    ("^",),
    ("&",),
    ("<<", ">>"),
    ("+", "-"),
    ("*", "/", "%"),
)
"""Binary operators that compute, loosest first."""

COMPARISONS = {"=": "=", "<>": "<>", "!=": "<>", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
NULL = Literal("null", None)


def expression(cursor: Cursor) -> Node:
    """An expression, as loose as it may be."""
    operands = cursor.separated(_conjunction, "OR")
    return operands[0] if len(operands) == 1 else Operation("OR", tuple(operands))


def _conjunction(cursor: Cursor) -> Node:
    operands = cursor.separated(_negation, "AND")
    return operands[0] if len(operands) == 1 else Operation("AND", tuple(operands))


def _negation(cursor: Cursor) -> Node:
    if cursor.accept("NOT"):
        return Operation("NOT", (_negation(cursor),))
    return _comparison(cursor)


def _comparison(cursor: Cursor) -> Node:
    left = _arithmetic(cursor, 0)
    is_not = cursor.accept("NOT")
    if cursor.at("LIKE") or cursor.at("ILIKE"):
        return _inverted(is_not, _like(cursor, left))
    if cursor.accept("!", "~"):
        return _inverted(True, Call("~", (left, _arithmetic(cursor, 0))))
    if cursor.accept("~"):
        return Call("~", (left, _arithmetic(cursor, 0)))
    if cursor.accept("IN"):
        return _inverted(is_not, _membership(cursor, left))
    if cursor.accept("BETWEEN"):
        return _inverted(is_not, _between(cursor, left))
    if cursor.accept("IS"):
        is_not = cursor.accept("NOT")
        cursor.expect("NULL")
        return _inverted(is_not, Operation("IS NULL", (left,)))
    if cursor.token.text in COMPARISONS:
        operator = COMPARISONS[cursor.take().text]
        return Operation(operator, (left, _arithmetic(cursor, 0)))
    return left


def _like(cursor: Cursor, operand: Node) -> Node:
    name_ = cursor.take().text.lower()
    arguments = [operand, _arithmetic(cursor, 0)]
    if cursor.accept("ESCAPE"):
        arguments.append(_arithmetic(cursor, 0))
    return Call(name_, tuple(arguments))


def _inverted(is_not: bool, node: Node) -> Node:
    return Operation("NOT", (node,)) if is_not else node


def _membership(cursor: Cursor, operand: Node) -> Node:
    if not cursor.accept("["):
        return Membership(operand, (primary(cursor),))
    values = cursor.separated(expression)
    cursor.expect("]")
    return Membership(operand, tuple(values))


def _between(cursor: Cursor, operand: Node) -> Node:
    low = _arithmetic(cursor, 0)
    cursor.expect("AND")
    high = _arithmetic(cursor, 0)
    return Operation("AND", (Operation(">=", (operand, low)), Operation("<=", (operand, high))))


def _arithmetic(cursor: Cursor, level: int) -> Node:
    if level == len(LEVELS):
        return _unary(cursor)
    left = _arithmetic(cursor, level + 1)
    while cursor.token.kind == "sign" and cursor.token.text in LEVELS[level]:
        operator = cursor.take().text
        left = Operation(operator, (left, _arithmetic(cursor, level + 1)))
    return left


def _unary(cursor: Cursor) -> Node:
    for sign in ("-", "~"):
        if cursor.accept(sign):
            return Operation({"-": "negative", "~": "~"}[sign], (_unary(cursor),))
    if cursor.accept("!"):
        return Operation("NOT", (_unary(cursor),))
    return primary(cursor)


def primary(cursor: Cursor) -> Node:
    """What stands between operators."""
    if cursor.accept("("):
        inside = expression(cursor)
        cursor.expect(")")
        return inside
    if cursor.accept("$") or cursor.accept("#"):
        return Parameter(cursor.word().lower())
    if cursor.accept("CASE"):
        return _case(cursor)
    if cursor.at("CAST", "("):
        return _cast(cursor)
    if cursor.token.kind == "word":
        return _constant_word(cursor) or _name_or_call(cursor)
    return _literal(cursor.take())


def _case(cursor: Cursor) -> Node:
    branches = []
    subject = None if cursor.token.text.upper() == "WHEN" else expression(cursor)
    while cursor.accept("WHEN"):
        condition = expression(cursor)
        if subject is not None:
            condition = Operation("=", (subject, condition))
        cursor.expect("THEN")
        branches.append((condition, expression(cursor)))
    otherwise = expression(cursor) if cursor.accept("ELSE") else NULL
    cursor.expect("END")
    return Case(tuple(branches), otherwise)


def _cast(cursor: Cursor) -> Node:
    cursor.accept("CAST", "(")
    operand = expression(cursor)
    cursor.expect("AS")
    type_ = type_named(cursor.word())
    cursor.expect(")")
    return Cast(operand, type_)


def type_named(word: str) -> str:
    """A type by its name, in any case."""
    return word.upper() if word.upper() in ("IP", "IPV6", "INET") else word.lower()


def _constant_word(cursor: Cursor) -> Node | None:
    for word, value in (("TRUE", True), ("FALSE", False)):
        if cursor.accept(word):
            return Literal("bool", value)
    return NULL if cursor.accept("NULL") else None


def _name_or_call(cursor: Cursor) -> Node:
    word = cursor.ahead(1)
    for opening, closing in (("(", ")"), ("[", "]")):
        if word.text == opening and not at_window(cursor, 1):
            called = cursor.word().lower()
            cursor.expect(opening)
            distinct = cursor.accept("DISTINCT")
            arguments = _arguments(cursor, closing)
            return Call(called, arguments, _filter(cursor), distinct)
    return name(cursor)


def _filter(cursor: Cursor) -> Node | None:
    if not cursor.accept("FILTER", "(", "WHERE"):
        return None
    condition = expression(cursor)
    cursor.expect(")")
    return condition


def _arguments(cursor: Cursor, closing: str) -> tuple[Node, ...]:
    if cursor.accept("*"):
        cursor.expect(closing)
        return ()
    if cursor.accept(closing):
        return ()
    arguments = cursor.separated(expression)
    cursor.expect(closing)
    return tuple(arguments)


def name(cursor: Cursor) -> Name:
    """A column, perhaps with a qualifier."""
    word = cursor.word()
    if cursor.accept("."):
        return Name(cursor.word(), word)
    return Name(word)


def at_window(cursor: Cursor, ahead: int = 0) -> bool:
    """Whether a window's bracket begins here, or so many tokens ahead; not a predicate's."""
    opening, word, behind = (cursor.ahead(ahead + at) for at in range(3))
    if opening.text != "[" or opening.kind != "sign":
        return False
    if word.is_word("RANGE") or word.is_word("SLIDE"):
        return behind.kind == "number"
    return word.is_word("WA") and behind.kind == "word"


# Literals


def _literal(token: Token) -> Node:
    if token.kind == "string":
        return Literal("string", token.text[1:-1].replace("''", "'").encode())
    if token.kind == "typed":
        word, _, rest = token.text.partition("'")
        return _typed(word.upper(), rest.rstrip("'"))
    if token.kind == "number":
        return _number(token.text.upper())
    raise ValueError(f"an expression is missing before {token.text!r}")


def _typed(word: str, text: str) -> Node:
    if word in ("HEX", "LHEX"):
        return Literal("uint" if word == "HEX" else "ullong", int(text, 16))
    address, _, bits = text.partition("/")
    packed = ipaddress.ip_address(address).packed
    value = int.from_bytes(packed, "big") if len(packed) == 4 else packed
    if bits:
        return Prefix(value, int(bits))
    return Literal("IP" if isinstance(value, int) else "IPV6", value)


def _number(text: str) -> Node:
    for suffix, type_ in (("ULL", "ullong"), ("UL", "uint")):
        if text.endswith(suffix):
            return Literal(type_, int(text.removesuffix(suffix)))
    if text.isdigit():
        return Literal("number", int(text))
    return Literal("float", float(text))
