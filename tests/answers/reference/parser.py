# SPDX-License-Identifier: Apache-2.0
"""From text to trees: the part of GSQL that has answers today. ValueError for anything else."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from functools import cache
from typing import TypeVar

from tests.answers.reference.syntax import (
    Call,
    Case,
    Cast,
    Item,
    Literal,
    Membership,
    Name,
    Node,
    Operation,
    OrderItem,
    Parameter,
    Prefix,
    Query,
    Table,
)
from tests.answers.reference.tokens import Token, tokens

_Part = TypeVar("_Part")

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


@cache
def parse_set(text: str) -> tuple[Query, ...]:
    """The queries of a text, which `;` separates."""
    cursor = _Cursor(tokens(text))
    queries = []
    while cursor.token.kind != "end":
        queries.append(_query(cursor))
        if not cursor.accept(";"):
            break
    cursor.expect_end()
    return tuple(queries)


class _Cursor:
    def __init__(self, found: list[Token]) -> None:
        self._tokens = found
        self._at = 0

    @property
    def token(self) -> Token:
        return self._tokens[self._at]

    @property
    def following(self) -> Token:
        return self._tokens[min(self._at + 1, len(self._tokens) - 1)]

    def take(self) -> Token:
        token = self.token
        self._at += 1
        return token

    def at(self, *words: str) -> bool:
        """Whether these keywords or signs come next."""
        ahead = self._tokens[self._at : self._at + len(words)]
        return len(ahead) == len(words) and all(map(_is, ahead, words))

    def accept(self, *words: str) -> bool:
        if not self.at(*words):
            return False
        self._at += len(words)
        return True

    def expect(self, word: str) -> None:
        if not self.accept(word):
            raise ValueError(f"{word} is missing before {self.token.text!r}")

    def expect_end(self) -> None:
        if self.token.kind != "end":
            raise ValueError(f"what is {self.token.text!r}?")

    def word(self) -> str:
        token = self.take()
        if token.kind != "word":
            raise ValueError(f"a name is missing before {token.text!r}")
        return token.text

    def separated(self, part: Callable[[_Cursor], _Part], separator: str = ",") -> list[_Part]:
        parts = [part(self)]
        while self.accept(separator):
            parts.append(part(self))
        return parts


def _is(token: Token, word: str) -> bool:
    if word[0].isalpha():
        return token.is_word(word)
    return token.kind == "sign" and token.text == word


# Queries


def _query(cursor: _Cursor) -> Query:
    query = Query()
    while cursor.at("DEFINE") or cursor.at("PARAM"):
        if cursor.take().is_word("DEFINE"):
            _define(cursor, query)
        else:
            _parameters(cursor, query)
    cursor.expect("SELECT")
    query.distinct = cursor.accept("DISTINCT")
    if not cursor.accept("*"):
        query.items = cursor.separated(_item)
    cursor.expect("FROM")
    query.tables = _tables(cursor)
    _clauses(cursor, query)
    return query


def _define(cursor: _Cursor, query: Query) -> None:
    cursor.expect("{")
    while not cursor.accept("}"):
        name = cursor.word().lower()
        token = cursor.take()
        query.options[name] = token.text.strip("'")
        cursor.accept(";")


def _parameters(cursor: _Cursor, query: Query) -> None:
    cursor.expect("{")
    while not cursor.accept("}"):
        name, type_ = cursor.word().lower(), cursor.word().lower()
        value = _primary(cursor)
        assert isinstance(value, Literal)
        query.parameters[name] = Literal(type_, value.value)
        cursor.accept(";")


def _tables(cursor: _Cursor) -> list[Table]:
    tables = cursor.separated(_table, "UNION")
    if cursor.accept("AS") or (cursor.token.kind == "word" and not _begins_clause(cursor.token)):
        alias = cursor.word()
        tables = [Table(table.name, table.interface, alias) for table in tables]
    return tables


def _begins_clause(token: Token) -> bool:
    return any(map(token.is_word, ("WHERE", "GROUP", "HAVING", "ORDER", "LIMIT")))


def _table(cursor: _Cursor) -> Table:
    name = cursor.word()
    if cursor.accept("."):
        return Table(cursor.word(), interface=name)
    return Table(name)


def _clauses(cursor: _Cursor, query: Query) -> None:
    if cursor.accept("WHERE"):
        query.where = _expression(cursor)
    if cursor.accept("GROUP", "BY"):
        query.group_by = cursor.separated(_item)
    if cursor.accept("HAVING"):
        query.having = _expression(cursor)
    if cursor.accept("ORDER", "BY"):
        query.order_by = cursor.separated(_order_item)
    if cursor.accept("LIMIT"):
        query.limit = int(cursor.take().text)


def _item(cursor: _Cursor) -> Item:
    expression = _expression(cursor)
    if cursor.accept("AS"):
        return Item(expression, cursor.word())
    return Item(expression, expression.name if isinstance(expression, Name) else "")


def _order_item(cursor: _Cursor) -> OrderItem:
    expression = _expression(cursor)
    descending = cursor.accept("DESC")
    if not descending:
        cursor.accept("ASC")
    return OrderItem(expression, descending)


# Expressions, loosest first: OR, AND, NOT, comparison, arithmetic, unary


def _expression(cursor: _Cursor) -> Node:
    operands = cursor.separated(_conjunction, "OR")
    return operands[0] if len(operands) == 1 else Operation("OR", tuple(operands))


def _conjunction(cursor: _Cursor) -> Node:
    operands = cursor.separated(_negation, "AND")
    return operands[0] if len(operands) == 1 else Operation("AND", tuple(operands))


def _negation(cursor: _Cursor) -> Node:
    if cursor.accept("NOT"):
        return Operation("NOT", (_negation(cursor),))
    return _comparison(cursor)


def _comparison(cursor: _Cursor) -> Node:
    left = _arithmetic(cursor, 0)
    is_not = cursor.accept("NOT")
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


def _inverted(is_not: bool, node: Node) -> Node:
    return Operation("NOT", (node,)) if is_not else node


def _membership(cursor: _Cursor, operand: Node) -> Node:
    if not cursor.accept("["):
        return Membership(operand, (_primary(cursor),))
    values = cursor.separated(_expression)
    cursor.expect("]")
    return Membership(operand, tuple(values))


def _between(cursor: _Cursor, operand: Node) -> Node:
    low = _arithmetic(cursor, 0)
    cursor.expect("AND")
    high = _arithmetic(cursor, 0)
    return Operation("AND", (Operation(">=", (operand, low)), Operation("<=", (operand, high))))


def _arithmetic(cursor: _Cursor, level: int) -> Node:
    if level == len(LEVELS):
        return _unary(cursor)
    left = _arithmetic(cursor, level + 1)
    while cursor.token.kind == "sign" and cursor.token.text in LEVELS[level]:
        operator = cursor.take().text
        left = Operation(operator, (left, _arithmetic(cursor, level + 1)))
    return left


def _unary(cursor: _Cursor) -> Node:
    for sign in ("-", "~"):
        if cursor.accept(sign):
            return Operation({"-": "negative", "~": "~"}[sign], (_unary(cursor),))
    if cursor.accept("!"):
        return Operation("NOT", (_unary(cursor),))
    return _primary(cursor)


def _primary(cursor: _Cursor) -> Node:
    if cursor.accept("("):
        inside = _expression(cursor)
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


def _case(cursor: _Cursor) -> Node:
    branches = []
    subject = None if cursor.token.text.upper() == "WHEN" else _expression(cursor)
    while cursor.accept("WHEN"):
        condition = _expression(cursor)
        if subject is not None:
            condition = Operation("=", (subject, condition))
        cursor.expect("THEN")
        branches.append((condition, _expression(cursor)))
    otherwise = _expression(cursor) if cursor.accept("ELSE") else NULL
    cursor.expect("END")
    return Case(tuple(branches), otherwise)


def _cast(cursor: _Cursor) -> Node:
    cursor.accept("CAST", "(")
    operand = _expression(cursor)
    cursor.expect("AS")
    type_ = cursor.word()
    cursor.expect(")")
    return Cast(operand, type_ if type_.upper() in ("IP", "IPV6", "INET") else type_.lower())


def _constant_word(cursor: _Cursor) -> Node | None:
    for word, value in (("TRUE", True), ("FALSE", False)):
        if cursor.accept(word):
            return Literal("bool", value)
    return NULL if cursor.accept("NULL") else None


def _name_or_call(cursor: _Cursor) -> Node:
    name = cursor.word()
    for opening, closing in (("(", ")"), ("[", "]")):
        if cursor.accept(opening):
            return Call(name.lower(), _arguments(cursor, closing))
    if cursor.accept("."):
        return Name(cursor.word(), name)
    return Name(name)


def _arguments(cursor: _Cursor, closing: str) -> tuple[Node, ...]:
    if cursor.accept("*"):
        cursor.expect(closing)
        return ()
    arguments = cursor.separated(_expression)
    cursor.expect(closing)
    return tuple(arguments)


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
