# SPDX-License-Identifier: Apache-2.0
"""The headers of a Parquet column's pages, read before Parquet does: it takes what they declare.

A page header says the sizes of the page, and how many values it holds. The footer's numbers are
held against these: Parquet would end where the least one does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gigastream.late_dataclass import dataclass
from gigastream.records.parquet_footer import Chunk
from gigastream.records.record_input import MAX_PIECE_BYTES
from gigastream.records.thrift import CompactReader, ThriftError

if TYPE_CHECKING:
    from gigastream.records.parquet_rows import BoundedFile

MAX_SLICE_BYTES = 2 * MAX_PIECE_BYTES
"""Of a column that is unpacked at once; a page has the half at the most, and may be one value."""
_HEADER_BYTES = 1 << 14
"""Statistics stand in it, which are cut to some hundred bytes by all who write."""
_TYPE, _UNPACKED, _PACKED, _DATA, _DATA_V2, _VALUES = 1, 2, 3, 5, 8, 1
_OF_DATA = {0: (_DATA, 2), 3: (_DATA_V2, 4)}
"""By the type of a page: where its number of values stands, and there its encoding."""
_BY_DICTIONARY = (2, 8)
"""Encodings whose values are places in the column's dictionary."""
_BY_PREFIX = 7
"""DELTA_BYTE_ARRAY: each value begins as the one before, which few bytes say."""
_PAGE = dict.fromkeys((_TYPE, _UNPACKED, _PACKED)) | {
    data: dict.fromkeys((_VALUES, encoding)) for data, encoding in _OF_DATA.values()
}


class PageError(Exception):
    """A page that is none, or too large."""


@dataclass(frozen=True, slots=True)
class _Page:
    """A page with its header; a dictionary has none of the column's values."""

    bytes: int
    values: int
    unpacked: int
    encoding: int | None
    """Of its values; a dictionary's does not matter."""

    @property
    def by_dictionary(self) -> bool:
        return self.encoding in _BY_DICTIONARY


@dataclass(frozen=True, slots=True)
class Pages:
    """Those of a column in a group of rows."""

    all: tuple[_Page, ...]

    @property
    def by_dictionary(self) -> bool:
        """Whether every value stands in the dictionary, which then is held once."""
        return all(page.by_dictionary for page in self.all if page.values)

    def rows_at_once(self, most: int, *, keeps_words: bool) -> int:
        """Return how many rows may be unpacked at once, so many at the most.

        `keeps_words`: where all values stand in the dictionary none is unpacked, or all are short.
        """
        if keeps_words and self.by_dictionary:
            return most
        has_words = any(page.by_dictionary for page in self.all)
        repeated = [  # one value of it may stand anywhere
            page.unpacked
            for page in self.all
            if page.encoding == _BY_PREFIX or (has_words and not page.values)
        ]
        most = max(1, min(most, MAX_SLICE_BYTES // max([*repeated, 1])))
        while most > 1 and _most_unpacked(self.all, most) > MAX_SLICE_BYTES:
            most //= 2
        return most


def check_pages(file: BoundedFile, column: Chunk) -> Pages:
    """Raise PageError where a column's pages are too large, or hold other numbers of values."""
    if not 0 < column.begin <= column.end <= file.size:
        raise PageError("a column lies outside of the file")
    at, pages = column.begin, list[_Page]()
    while at < column.end:
        page = _page(file, at)
        at += page.bytes
        pages.append(page)
    values = sum(page.values for page in pages)
    if values != column.values:
        raise PageError(f"a column of {column.values:,} values: its pages hold {values:,}")
    return Pages(tuple(pages))


def _most_unpacked(pages: Sequence[_Page], rows: int) -> int:
    """Bytes of the pages in which so many values, one after the other, can lie."""
    most = unpacked = values = first = 0
    for page in pages:
        unpacked += page.unpacked
        values += page.values
        while pages[first] is not page and values - pages[first].values - page.values > rows - 2:
            unpacked -= pages[first].unpacked
            values -= pages[first].values
            first += 1
        most = max(most, unpacked)
    return most


def _page(file: BoundedFile, at: int) -> _Page:
    file.seek(at)
    reader = CompactReader(file.read(_HEADER_BYTES))
    try:
        header = reader.struct(_PAGE)
    except ThriftError as problem:
        raise PageError(f"a page header that is none: {problem}") from None
    unpacked, packed = (header.get(field, -1) for field in (_UNPACKED, _PACKED))
    if not 0 <= unpacked <= MAX_PIECE_BYTES or not 0 <= packed <= MAX_PIECE_BYTES:
        size = max(unpacked, packed)
        raise PageError(f"a page says that it has {size:,} bytes: {MAX_PIECE_BYTES:,} are the most")
    place, encoding = _OF_DATA.get(header.get(_TYPE, -1), (0, 0))
    data = header.get(place, {})
    values = data.get(_VALUES, 0)
    if values < 0:
        raise PageError(f"a page says that it has {values:,} values")
    return _Page(reader.at + packed, values, unpacked, data.get(encoding))
