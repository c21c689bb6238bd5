# SPDX-License-Identifier: Apache-2.0
"""The footer of a Parquet file: where its columns lie, and how many rows and values it declares.

It is read here, since what Arrow's library tells of a column ends the process where the column's
statistics of sizes do not fit: nothing between the two catches that.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gigastream.late_dataclass import dataclass
from gigastream.records.thrift import CompactReader, ThriftError

if TYPE_CHECKING:
    from gigastream.records.parquet_rows import BoundedFile

MAGIC = b"PAR1"
MAX_FOOTER_BYTES = 1 << 24
_ROWS, _GROUPS = 3, 4
_GROUP_COLUMNS, _GROUP_ROWS = 1, 3
_COLUMN_DATA = 3
_VALUES, _BYTES, _DATA_PAGES, _DICTIONARY = 5, 7, 9, 11
"""Of ColumnMetaData."""
_COLUMN = {_COLUMN_DATA: dict.fromkeys((_VALUES, _BYTES, _DATA_PAGES, _DICTIONARY))}
_FOOTER = {_ROWS: None, _GROUPS: [{_GROUP_COLUMNS: [_COLUMN], _GROUP_ROWS: None}]}


class FooterError(Exception):
    """A footer that is none, or whose numbers cannot be."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """A column within a group of rows: where its pages begin and end, how many values they hold."""

    begin: int
    end: int
    values: int


@dataclass(frozen=True, slots=True)
class Footer:
    """What is declared, by group: how many rows there are, and the columns by their places."""

    rows: Sequence[int]
    columns: Sequence[Sequence[Chunk]]


def read_footer(file: BoundedFile) -> Footer:
    """Read the footer, whose numbers of rows must agree. FooterError."""
    try:
        found = CompactReader(_bytes(file)).struct(_FOOTER)
        groups = found.get(_GROUPS, [])
        declared = int(found[_ROWS])
        rows = [int(group[_GROUP_ROWS]) for group in groups]
        columns = [[_chunk(one) for one in group[_GROUP_COLUMNS]] for group in groups]
    except ThriftError as problem:
        raise FooterError(f"its footer is none: {problem}") from None
    except (KeyError, TypeError):
        raise FooterError("its footer lacks something") from None
    if sum(rows) != declared:
        raise FooterError(f"its footer says that it has {declared:,} rows: there are {sum(rows):,}")
    return Footer(rows, columns)


def _bytes(file: BoundedFile) -> bytes:
    file.seek(-8, os.SEEK_END)
    tail = file.read(8)
    if len(tail) < 8 or tail[4:] != MAGIC:
        raise FooterError("it ends without Parquet's footer")
    (size,) = struct.unpack("<I", tail[:4])
    if size > min(MAX_FOOTER_BYTES, file.size):
        raise FooterError(f"its footer says that it has {size:,} bytes")
    file.seek(-8 - size, os.SEEK_END)
    return file.read(size)


def _chunk(column: dict[int, Any]) -> Chunk:
    data = column[_COLUMN_DATA]
    begin, dictionary = data[_DATA_PAGES], data.get(_DICTIONARY, 0)
    if 0 < dictionary < begin:
        begin = dictionary
    return Chunk(begin, begin + data[_BYTES], data[_VALUES])
