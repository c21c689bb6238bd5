# SPDX-License-Identifier: Apache-2.0
"""The parser's place in the tokens, its complaints, and how it finds its feet after one."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TypeVar

from gigastream.gsql.diagnostics import DiagnosticSink, closest
from gigastream.gsql.source import SourceFile, Span
from gigastream.gsql.syntax.ast import Name, TypeName
from gigastream.gsql.syntax.lexer import KEYWORDS, Token, tokens

MAX_NESTING = 50
"""How deep brackets may nest: the parser descends by recursion."""

MAX_DEPTH = 150
"""How deep a tree may be, so that later passes may recurse: `1 + 1 + …` needs no bracket."""

CLAUSES = frozenset(
    (
        *("SELECT", "FROM", "WHERE", "GROUP", "SUPERGROUP", "HAVING", "ORDER", "LIMIT"),
        *("CLEANING_WHEN", "CLEANING_BY", "CLOSING_WHEN", "INNER_JOIN", "LEFT_OUTER_JOIN"),
        *("RIGHT_OUTER_JOIN", "OUTER_JOIN", "FILTER_JOIN", "WATCHLIST_JOIN"),
    )
)
"""Words that begin a clause, and so end every list and every bracket that was left open."""

_Part = TypeVar("_Part")


class ParseError(Exception):
    """Reading cannot go on here; it was reported. Caught where the parser can go on."""


class Cursor:
    """A position in the tokens of one text, read as they are needed."""

    __slots__ = ("_complained", "_lexer", "_nesting", "_tokens", "at", "sink", "source", "token")

    def __init__(self, source: SourceFile, sink: DiagnosticSink) -> None:
        self.source = source
        self.sink = sink
        self._lexer = tokens(source, sink)
        self._tokens: list[Token] = []
        self._nesting = 0
        self._complained: int | None = None
        self.at = 0
        self.token = self.peek(0)

    # Looking and moving

    def peek(self, ahead: int = 1) -> Token:
        """Return the token so many behind the current one."""
        at = self.at + ahead
        while len(self._tokens) <= at:
            self._tokens.append(next(self._lexer))
        return self._tokens[at]

    def advance(self) -> Token:
        """Step over the current token and return it."""
        token = self.token
        if token.kind != "end":
            self.at += 1
            if len(self._tokens) == self.at:
                self._tokens.append(next(self._lexer))
            self.token = self._tokens[self.at]
        return token

    def is_word(self, *words: str, ahead: int = 0) -> bool:
        """True if the token is a name that reads as one of these words, in any case."""
        token = self.peek(ahead)
        return token.kind == "name" and token.text.upper() in words

    def is_behind(self, kind: str) -> bool:
        """True if the token before the current one is of this kind."""
        return self.at > 0 and self._tokens[self.at - 1].kind == kind

    def accept(self, kind: str) -> Token | None:
        """Step over a token of this kind if it is there."""
        return self.advance() if self.token.kind == kind else None

    def accept_word(self, word: str) -> Token | None:
        """Step over a name that reads as this word if it is there."""
        return self.advance() if self.is_word(word) else None

    # Places

    def mark(self) -> int:
        """Return where the current token begins, to be given to `since`."""
        return self.token.start

    def since(self, mark: int) -> Span:
        """Return the place from a mark to the end of the token before this one."""
        end = self._tokens[self.at - 1].end if self.at else mark
        return Span(self.source, mark, max(mark, end))

    def span_of(self, token: Token) -> Span:
        """Return the place of a token."""
        return Span(self.source, token.start, token.end)

    # Demanding

    def expect(self, kind: str, what: str | None = None, hint: str | None = None) -> Token:
        """Step over a token of this kind, or fail saying what was expected."""
        if self.token.kind == kind:
            return self.advance()
        raise self.unexpected(what or shown(kind), hint)

    def name(self, what: str) -> Token:
        """Step over a name, or fail; a keyword that was meant as one is reported and taken."""
        if self.token.kind not in KEYWORDS:
            return self.expect("name", what)
        if self.peek().kind not in _AFTER_NAME:
            raise self.unexpected(what)
        hint = f"{self.token.text} is a word of the language: choose another name"
        self.unexpected(what, hint)
        return self.advance()

    def name_node(self, what: str) -> Name:
        """Read a name without a qualifier."""
        token = self.name(what)
        return Name((), token.text, span=self.span_of(token))

    def type_name(self, what: str = "a type") -> TypeName:
        """Read the name of a type."""
        token = self.name(what)
        return TypeName(token.text, span=self.span_of(token))

    def closing_bracket(self) -> Token | None:
        """Return the `)` of the `(` before the current token, if it comes before any `;`."""
        depth, ahead = 1, 0
        while (token := self.peek(ahead)).kind not in ("end", ";"):
            depth += {"(": 1, ")": -1}.get(token.kind, 0)
            if depth == 0:
                return token
            ahead += 1
        return None

    # Complaining

    def error(self, code: str, message: str, span: Span, hint: str | None = None) -> ParseError:
        """Report an error; the caller may raise what is returned, or go on."""
        self.sink.error(code, message, span, hint)
        return ParseError()

    def unexpected(self, what: str, hint: str | None = None) -> ParseError:
        """Report that something else was expected at the current token, once of each token."""
        if self.token.kind == "bad" or self.has_complained:
            return ParseError()
        self._complained = self.at
        message = f"expected {what}, found {self.token.describe()}"
        return self.error("syntax", message, self.span_of(self.token), hint)

    @property
    def has_complained(self) -> bool:
        """True if it has been said that the current token was not expected."""
        return self._complained == self.at

    def misspelt(self, words: Collection[str]) -> str | None:
        """Return the word that the current name seems to be meant as, or None."""
        return closest(self.token.text, words) if self.token.kind == "name" else None

    def read_as(self, keyword: str) -> None:
        """Take the current token for the keyword that it was meant as; the caller reported it."""
        self.token.kind = keyword

    # Not falling over

    def enter(self) -> None:
        """Count a level of nesting; fail, not overflow the stack, where there are too many."""
        if self._nesting >= MAX_NESTING:
            hint = "split the query: one part can read another by its name"
            message = f"nested more than {MAX_NESTING} deep"
            raise self.error("too-deep", message, self.span_of(self.token), hint)
        self._nesting += 1

    def leave(self) -> None:
        """Come back from a level of nesting; stands in `finally`."""
        self._nesting -= 1

    def refuse_chain(self, mark: int, length: int) -> None:
        """Fail where a chain of operations makes too deep a tree."""
        if length > MAX_DEPTH:
            raise self.too_deep(self.since(mark))

    def too_deep(self, span: Span) -> ParseError:
        """Report a tree that is too deep."""
        hint = "use parentheses to make it flatter, or split the query in two"
        return self.error("too-deep", f"more than {MAX_DEPTH} operations on each other", span, hint)

    def skip_to(self, stops: Collection[str], hard: Collection[str] = ()) -> None:
        """Step to the next token of these kinds that is not inside brackets opened on the way.

        The hard stops end it inside brackets too, and so does every `;`.
        """
        depth = 0
        while self.token.kind not in ("end", ";"):
            kind = self.token.kind
            is_hard = kind in hard and not self._is_in_filter()
            if is_hard or (depth == 0 and kind in stops):
                return
            depth = max(0, depth + _DEPTH_CHANGE.get(kind, 0))
            self.advance()

    def _is_in_filter(self) -> bool:
        """True at the WHERE of `count(*) FILTER (WHERE p)`, which is no clause."""
        if self.at < 2 or self.token.kind != "WHERE":
            return False
        return self.is_behind("(") and self._tokens[self.at - 2].text.upper() == "FILTER"

    def separated(self, read: Callable[[], _Part], separator: str = ",") -> tuple[_Part, ...]:
        """Read one or more parts with a separator between them."""
        parts = [read()]
        while self.accept(separator):
            parts.append(read())
        return tuple(parts)


_AFTER_NAME = frozenset((",", ";", ".", ")", "]", "end", "FROM", "=", "JOIN", "ON"))
"""What follows a name, but seldom a keyword: before these, the keyword was meant as a name."""

_DEPTH_CHANGE = {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}


def shown(kind: str) -> str:
    """Return how a message writes a kind of token."""
    return kind if kind.isidentifier() else f"'{kind}'"
