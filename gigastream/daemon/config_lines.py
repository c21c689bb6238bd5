# SPDX-License-Identifier: Apache-2.0
"""Where in a configuration's text a key stands: tomllib does not say it of what it has read."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

KeyPath = tuple[str | int, ...]
"""Of a key: ("link", 0, "device")."""
_NAME = r"""(?:[A-Za-z0-9_-]+|"(?:[^"\\]|\\.)*"|'[^']*')"""
_NAMES = rf"{_NAME}(?:\s*\.\s*{_NAME})*"
_LIST_HEADER = re.compile(rf"\s*\[\[\s*({_NAMES})\s*\]\]")
_HEADER = re.compile(rf"\s*\[\s*({_NAMES})\s*\]")
_KEY = re.compile(rf"\s*({_NAMES})\s*=")
_LONG_QUOTES = re.compile(r'"""|' + "'''")


class KeyLines:
    """The lines of a text's keys."""

    def __init__(self, text: str) -> None:
        self._lines: dict[KeyPath, int] = {}
        self._counts: dict[KeyPath, int] = {}
        self._table: KeyPath = ()
        for number, line in _outside_long_texts(text):
            self._read(number, line)

    def line_of(self, path: KeyPath) -> int:
        """Return the line (from 1) of a key, or of the nearest around it that has one."""
        while path and path not in self._lines:
            path = path[:-1]
        return self._lines.get(path, 1)

    def _read(self, number: int, line: str) -> None:
        if found := _LIST_HEADER.match(line):
            path = self._resolved(_names(found[1]))
            count = self._counts[path] = self._counts.get(path, -1) + 1
            self._table = (*path, count)
            self._lines.setdefault(path, number)
            self._lines.setdefault(self._table, number)
        elif found := _HEADER.match(line):
            self._table = self._resolved(_names(found[1]))
            self._lines.setdefault(self._table, number)
        elif found := _KEY.match(line):
            self._lines.setdefault((*self._table, *_names(found[1])), number)

    def _resolved(self, names: Sequence[str]) -> KeyPath:
        """Return the path that a header means: below a list, that of its newest table."""
        path: KeyPath = ()
        for at, name in enumerate(names):
            path = (*path, name)
            if at < len(names) - 1 and path in self._counts:
                path = (*path, self._counts[path])
        return path


def _names(text: str) -> list[str]:
    return [name.strip("\"'") for name in re.findall(_NAME, text)]


def _outside_long_texts(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines that do not begin within a text of several lines, with their numbers."""
    quotes: str | None = None
    for number, line in enumerate(text.splitlines(), 1):
        if quotes is None:
            yield number, line
        for found in _LONG_QUOTES.findall(line):
            quotes = found if quotes is None else None if found == quotes else quotes


def within(path: KeyPath) -> str:
    """Return in which table that is."""
    if not path:
        return ""
    return f" in [[{path[0]}]]" if len(path) > 1 else f" in [{path[0]}]"
