# SPDX-License-Identifier: Apache-2.0
"""A place in a query's text, and what one can ask of what comes next."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from tests.answers.reference.tokens import Token

_Part = TypeVar("_Part")


class Cursor:
    """Reads tokens from the first to the last."""

    def __init__(self, found: list[Token]) -> None:
        self._tokens = found
        self._at = 0

    @property
    def token(self) -> Token:
        """What comes next."""
        return self._tokens[self._at]

    def ahead(self, count: int) -> Token:
        """The token so many behind the next."""
        return self._tokens[min(self._at + count, len(self._tokens) - 1)]

    def take(self) -> Token:
        """Step over a token."""
        token = self.token
        self._at += 1
        return token

    def at(self, *words: str) -> bool:
        """Whether these keywords or signs come next."""
        ahead = self._tokens[self._at : self._at + len(words)]
        return len(ahead) == len(words) and all(map(_is, ahead, words))

    def accept(self, *words: str) -> bool:
        """Step over these keywords or signs, if they come next."""
        if not self.at(*words):
            return False
        self._at += len(words)
        return True

    def expect(self, word: str) -> None:
        """Step over a keyword or sign that must come next."""
        if not self.accept(word):
            raise ValueError(f"{word} is missing before {self.token.text!r}")

    def expect_end(self) -> None:
        """Nothing may come."""
        if self.token.kind != "end":
            raise ValueError(f"what is {self.token.text!r}?")

    def word(self) -> str:
        """Step over a word."""
        token = self.take()
        if token.kind != "word":
            raise ValueError(f"a name is missing before {token.text!r}")
        return token.text

    def separated(self, part: Callable[[Cursor], _Part], separator: str = ",") -> list[_Part]:
        """One part or more."""
        parts = [part(self)]
        while self.accept(separator):
            parts.append(part(self))
        return parts


def _is(token: Token, word: str) -> bool:
    if word[0].isalpha():
        return token.is_word(word)
    return token.kind == "sign" and token.text == word
