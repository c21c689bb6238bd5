# SPDX-License-Identifier: Apache-2.0
"""The worked examples of docs/architecture.md: new files, and lines for files that are there.

A new file is a block behind a paragraph that begins with New: `NAME` in `FOLDER/`. In a `diff`
block `+++ PATH` names a file, and each of its hunks, between lines `@@`, stands there exactly once
but for the lines with `+`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_SECTION = re.compile(r"^### (.*?)\n(.*?)(?=^##|\Z)", re.MULTILINE | re.DOTALL)
_NEW = re.compile(
    r"^New: `([\w.]+)` in `([\w/]+)/`[^`]*\n\n```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL
)
_DIFF = re.compile(r"^```diff\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Hunk:
    """Lines of a file, before and after."""

    path: str
    before: str
    after: str


@dataclass(frozen=True)
class Worked:
    """What one example does to the tree."""

    title: str
    new: dict[str, str]
    hunks: tuple[Hunk, ...]

    @property
    def edited(self) -> set[str]:
        """The files that get lines."""
        return {hunk.path for hunk in self.hunks}

    @property
    def folders(self) -> set[str]:
        """The folders that get a file."""
        return {f"{Path(path).parent}/" for path in self.new}

    def apply(self, tree: Path) -> None:
        """Make the change in a copy of the project."""
        for path, text in self.new.items():
            assert not (tree / path).exists(), path
            (tree / path).write_text(text)
        for hunk in self.hunks:
            _replace(tree / hunk.path, hunk)


def worked(page: Path) -> list[Worked]:
    """Return the examples of a page: its sections that have a `diff`."""
    sections = _SECTION.findall(page.read_text())
    return [
        Worked(
            title,
            {f"{folder}/{name}": text for name, folder, text in _NEW.findall(section)},
            tuple(hunk for block in _DIFF.findall(section) for hunk in _hunks(block)),
        )
        for title, section in sections
        if _DIFF.search(section)
    ]


def _hunks(block: str) -> Iterator[Hunk]:
    _, *files = re.split(r"^\+\+\+ ", block, flags=re.MULTILINE)
    for file in files:
        path, _, text = file.partition("\n")
        for hunk in re.split(r"^@@\n", text, flags=re.MULTILINE):
            lines = hunk.splitlines(keepends=True)
            before = "".join(line[1:] or line for line in lines if line[0] != "+")
            yield Hunk(path, before, "".join(line[1:] or line for line in lines if line[0] != "-"))


def _replace(path: Path, hunk: Hunk) -> None:
    text = "\n" + path.read_text()
    assert text.count(f"\n{hunk.before}") == 1, f"{hunk.path}:\n{hunk.before}"
    path.write_text(text.replace(f"\n{hunk.before}", f"\n{hunk.after}")[1:])
