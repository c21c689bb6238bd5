# SPDX-License-Identifier: Apache-2.0
"""Characters to tokens. What cannot be a token is reported here, and reading goes on behind it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from gigastream.gsql.diagnostics import DiagnosticSink, printable
from gigastream.gsql.source import SourceFile, Span

KEYWORDS = frozenset(
    (
        *("SELECT", "DISTINCT", "FROM", "WHERE", "GROUP", "BY", "AS", "SUPERGROUP", "HAVING"),
        *("CLEANING_WHEN", "CLEANING_BY", "CLOSING_WHEN", "ORDER", "LIMIT", "UNION", "JOIN", "ON"),
        *("AND", "OR", "NOT", "IN", "BETWEEN", "CASE", "WHEN", "THEN", "ELSE", "END"),
        *("TRUE", "FALSE", "NULL", "INNER_JOIN", "LEFT_OUTER_JOIN", "RIGHT_OUTER_JOIN"),
        *("OUTER_JOIN", "FILTER_JOIN", "WATCHLIST_JOIN"),
    )
)
"""Words that no column or source may have as its name. All others (`window`, `range`, `merge`,
`protocol`, `left`, …) are names wherever a name may stand: packets have fields called so."""


class Token:
    """A token; its kind is `name`, `number`, `string`, a keyword, or the operator itself.

    `end` stands behind the last one; `bad` is what was reported here, so that nobody repeats it.
    The text is a keyword's or name's letters, a number's digits, a string's value.
    """

    __slots__ = ("end", "kind", "start", "text")

    def __init__(self, kind: str, text: str, start: int, end: int) -> None:
        self.kind = kind
        self.text = text
        self.start = start
        self.end = end

    def describe(self) -> str:
        """Return what a message calls this token."""
        if self.kind == "end":
            return "the end of the text"
        if self.kind == "string":
            return f"the text '{printable(self.text, 30)}'"
        return f"'{printable(self.text, 40)}'"


_TOKEN = re.compile(
    r"""
    (?P<space>[ \t\r\n\f\v]+)
  | (?P<comment>--[^\n]*|//[^\n]*)
  | (?P<block>/\*(?:[^*]|\*(?!/))*+(?P<closed>\*/)?)
  | (?P<name>[A-Za-z_][A-Za-z0-9_]*)
  | (?P<address>[0-9]+(?:\.[0-9]+){3}(?:/[0-9]+)?(?![A-Za-z0-9_.]))
  | (?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+(?![A-Za-z0-9_])|ULL|UL)?)
  | (?P<string>'(?:[^'\n]|'')*+(?P<ended>')?)
  | (?P<double>"[^"\n]*+"?)
  | (?P<typographic>[‘’`´“”][^'\n‘’`´“”]*+[‘’`´“”']?)
  | (?P<operator><>|!=|<=|>=|<<|>>|==|&&|\|\||=<|[-+*/%&|^~!=<>()\[\]{},.;:$\#@≥≤≠])
  | (?P<bad>[^ \t\r\n\f\vA-Za-z0-9_'"(),;]+|.)
    """,
    re.VERBOSE,
)

_SPELLINGS = {"!=": "<>", "≠": "<>", "≥": ">=", "≤": "<="}
"""Other ways to write an operator, those of the printed papers among them."""

_FOREIGN = {"==": ("=", "="), "=<": ("<=", "<="), "&&": ("AND", "AND"), "||": ("OR", "OR")}
"""Operators of other languages: read as the one that is meant, after an error that says so."""


_SKIPPED = ("space", "comment")


def tokens(source: SourceFile, sink: DiagnosticSink) -> Iterator[Token]:
    """Yield the tokens of a text, then `end` tokens for ever; comments and space are left out.

    The text ends where the sink is full of errors: garbage of any length costs little.
    """
    reader = _Scanner(source, sink)
    end = 0
    for match in _TOKEN.finditer(source.text):
        group = match.lastgroup
        if group in _SKIPPED:
            continue
        token = reader.read(group or "bad", match)
        if token is not None:
            end = token.end
            yield token
            if token.kind == "bad" and sink.is_full:
                break
    while True:
        yield Token("end", "", end, end)


class _Scanner:
    """Turns a match into a token or a message."""

    __slots__ = ("_sink", "_source")

    def __init__(self, source: SourceFile, sink: DiagnosticSink) -> None:
        self._source = source
        self._sink = sink

    def read(self, group: str, match: re.Match[str]) -> Token | None:
        return _READ[group](self, match, match.group(), match.start(), match.end())

    def _name(self, _: re.Match[str], text: str, start: int, end: int) -> Token:
        upper = text.upper()
        return Token(upper if upper in KEYWORDS else "name", text, start, end)

    def _address(self, _: re.Match[str], text: str, start: int, end: int) -> Token:
        what = "a prefix" if "/" in text else "an address"
        message = f"{what} stands in quotes, behind IP_VAL"
        return self._error(
            "bare-address", message, start, end, f"write IP_VAL'{printable(text, 40)}'"
        )

    def _number(self, _: re.Match[str], text: str, start: int, end: int) -> Token:
        return Token("number", text, start, end)

    def _operator(self, _: re.Match[str], text: str, start: int, end: int) -> Token:
        if text in _FOREIGN:
            kind, meant = _FOREIGN[text]
            message = f"'{text}' is not an operator of GSQL"
            joins = "; concat(x, y) joins texts" if text == "||" else ""
            self._error("bad-character", message, start, end, f"write {meant}{joins}")
            return Token(kind, text, start, end)
        return Token(_SPELLINGS.get(text, text), text, start, end)

    def _string(self, match: re.Match[str], text: str, start: int, end: int) -> Token:
        if match.group("ended") is None:
            hint = "end it with ' on the same line; a quote inside a text is written ''"
            message = "this text has no closing quote"
            return self._error("unterminated-string", message, start, start + 1, hint, end)
        return Token("string", text[1:-1].replace("''", "'"), start, end)

    def _double(self, _: re.Match[str], text: str, start: int, end: int) -> Token:
        value = text.strip('"')
        written = value.replace("'", "''")
        hint = f"write '{printable(written, 40)}'"
        self._error("double-quote", "texts stand in single quotes", start, end, hint)
        return Token("string", value, start, end)

    def _typographic(self, _: re.Match[str], text: str, start: int, end: int) -> Token:
        """Quotes that a word processor made, as in the printed papers: read, with a warning."""
        if len(text) < 2 or text[-1] not in "‘’`´“”'":
            hint = "end it with ' on the same line"
            message = "this text has no closing quote"
            return self._error("unterminated-string", message, start, start + 1, hint, end)
        if text[0] == text[-1] == "`" and text[1:-1].isidentifier():
            hint = f"write {text[1:-1]}"
            self._error("quoted-name", "names stand without quotes", start, end, hint)
            return Token("name", text[1:-1], start, end)
        span = Span(self._source, start, end)
        message = "typographic quotes are read as '"
        self._sink.warning("typographic-quote", message, span, f"write '{printable(text[1:-1])}'")
        return Token("string", text[1:-1], start, end)

    def _block(self, match: re.Match[str], text: str, start: int, end: int) -> None:
        if match.group("closed") is None:
            hint = "end it with */"
            self._error("unterminated-comment", "this comment has no end", start, start + 2, hint)

    def _bad(self, _: re.Match[str], text: str, start: int, end: int) -> Token:
        message = f"{_name_of(text)} cannot stand in a query"
        return self._error("bad-character", message, start, end)

    def _error(
        self, code: str, message: str, start: int, end: int, hint: str = "", until: int = 0
    ) -> Token:
        """Report an error from start to end; return the bad token, which may reach further."""
        self._sink.error(code, message, Span(self._source, start, end), hint or None)
        return Token("bad", "", start, max(end, until))


_READ: dict[str, Callable[[_Scanner, re.Match[str], str, int, int], Token | None]] = {
    "block": _Scanner._block,
    "name": _Scanner._name,
    "address": _Scanner._address,
    "number": _Scanner._number,
    "string": _Scanner._string,
    "double": _Scanner._double,
    "typographic": _Scanner._typographic,
    "operator": _Scanner._operator,
    "bad": _Scanner._bad,
}


def _name_of(text: str) -> str:
    first = text[0]
    if first == "\0":
        return "the character NUL"
    if first == "\ufffd":
        return "a byte that is not UTF-8"
    if first.isprintable():
        return f"'{printable(text, 20)}'"
    return f"the character U+{ord(first):04X}"
