# SPDX-License-Identifier: Apache-2.0
"""Watchlists: files of keys that packets are looked up by (GSQL section 6.10)."""

from __future__ import annotations

import re

from gigastream.gsql.source import NOWHERE, Span
from gigastream.gsql.types import Type
from gigastream.late_dataclass import dataclass, field

MAX_COLUMNS, MAX_KEYS = 32, 8
"""GS_LIST_COLUMNS, GS_LIST_KEYS of csrc/abi/gs_watchlist.h."""
LONGEST_LINE = 1 << 16
"""Bytes of a line of a list's file."""
EVERY_S = 10
"""How often a file is looked at where nothing is said, in seconds."""


_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,62}\Z")


@dataclass(frozen=True, slots=True)
class ListColumn:
    """A column of a list."""

    name: str
    type: Type
    is_key: bool = False


@dataclass(frozen=True, slots=True)
class Watchlist:
    """A list: its file, its columns, and how often it is looked whether the file has changed."""

    name: str
    path: str
    columns: tuple[ListColumn, ...]
    every_s: int = EVERY_S
    is_bare: bool = False
    """Named by its file alone, whose first line names the columns."""
    span: Span = field(default=NOWHERE, compare=False, repr=False)

    @property
    def keys(self) -> tuple[int, ...]:
        """The places of the key columns."""
        return tuple(at for at, column in enumerate(self.columns) if column.is_key)

    def index(self, name: str) -> int | None:
        """The place of the column of that name, in any case."""
        names = [column.name.lower() for column in self.columns]
        return names.index(name.lower()) if name.lower() in names else None


def names_in(line: bytes) -> tuple[str, ...] | None:
    """The names that a line of a file has; None where it is no line of names."""
    import csv

    try:
        text = line.decode("utf-8-sig").rstrip("\r")
        (cells,) = csv.reader([text], strict=True, skipinitialspace=True)
    except (UnicodeDecodeError, csv.Error, ValueError):
        return None
    names = tuple(cell.strip() for cell in cells)
    are_names = all(map(_NAME.match, names)) and len(names) <= MAX_COLUMNS
    is_unique = len({name.lower() for name in names}) == len(names)
    return names if names and are_names and is_unique else None
