# SPDX-License-Identifier: Apache-2.0
"""The fenced blocks of a document, and what each of them claims.

| fence | claims |
|---|---|
| `gsql` | the queries are right and run over the demo's capture |
| `gsql` before `text` | and a terminal shows these rows |
| `python` before `text` | the program prints this |
| `console` | what stands behind `$` is run in a shell, and shows what stands below it |

A block whose first line is a comment that is a file's name is that file for the commands behind it.
In what is shown, `…` is any text, and a line `…` any lines. Every other fence claims nothing here;
the worked examples of docs/architecture.md are those of worked.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import TypeVar

Item = TypeVar("Item")
_FENCE = re.compile(r"^```(\S*)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FILE_NAME = re.compile(r"(?:--|/\*|#|//) ([\w.-]+\.\w+)(?: \*/)?")


@dataclass(frozen=True)
class Block:
    """One fenced block."""

    line: int
    language: str
    words: str
    text: str

    @property
    def file_name(self) -> str | None:
        """The file that the block is, if it is one."""
        found = _FILE_NAME.fullmatch(self.text.partition("\n")[0])
        return found[1] if found else None


def in_pairs(found: Sequence[Item]) -> list[tuple[Item, Item | None]]:
    """Return each item with the one behind it."""
    return list(zip_longest(found, found[1:]))


@dataclass(frozen=True)
class Command:
    """A command of a console block, and the lines that it is said to show."""

    line: int
    text: str
    shown: tuple[str, ...]


def blocks(document: Path) -> list[Block]:
    """Return the fenced blocks of a document in order."""
    text = document.read_text()
    return [
        Block(text.count("\n", 0, found.start()) + 1, found[1], found[2].strip(), found[3])
        for found in _FENCE.finditer(text)
    ]


def commands(block: Block) -> Iterator[Command]:
    """Yield the commands of a console block; one goes on while a quote is open."""
    lines = block.text.splitlines()
    at = 0
    while at < len(lines):
        assert lines[at].startswith("$ "), f"line {block.line + 1 + at} is no command"
        first = at
        text = lines[at].removeprefix("$ ")
        while text.count("'") % 2:
            at += 1
            text += "\n" + lines[at]
        at += 1
        shown = at
        while at < len(lines) and not lines[at].startswith("$ "):
            at += 1
        yield Command(block.line + 1 + first, text, tuple(lines[shown:at]))
