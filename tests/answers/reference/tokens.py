# SPDX-License-Identifier: Apache-2.0
"""A query's text as tokens."""

from __future__ import annotations

import re
from dataclasses import dataclass

_PATTERN = re.compile(
    r"""
      (?P<space>\s+|--[^\n]*|//[^\n]*)
    | (?P<typed>(?:IP_VAL|IPV6_VAL|L?HEX)'[^']*')
    | (?P<string>'(?:[^']|'')*')
    | (?P<number>\d+\.\d*(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\d+(?:ULL|UL)?)
    | (?P<word>[A-Za-z_][A-Za-z0-9_]*(?:\$(?=\())?)
    | (?P<sign><>|!=|<=|>=|<<|>>|[-+*/%&|^~<>=()\[\]{},;:.$\#!])
    """,
    re.VERBOSE | re.IGNORECASE,
)


@dataclass(frozen=True)
class Token:
    """A piece of text; `kind` is typed, string, number, word, sign or end."""

    kind: str
    text: str

    def is_word(self, word: str) -> bool:
        """Whether it is this keyword, in any case."""
        return self.kind == "word" and self.text.upper() == word


def tokens(text: str) -> list[Token]:
    """The tokens of a text, an end behind them. ValueError for a character that begins none."""
    found, at = [], 0
    while at < len(text):
        match = _PATTERN.match(text, at)
        if match is None:
            raise ValueError(f"not GSQL: {text[at : at + 20]!r}")
        at = match.end()
        if match.lastgroup != "space":
            found.append(Token(str(match.lastgroup), match.group()))
    return [*found, Token("end", "")]
