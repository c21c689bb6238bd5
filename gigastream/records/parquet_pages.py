# SPDX-License-Identifier: Apache-2.0
"""The headers of a Parquet column's pages, read before Parquet does: it takes what they declare.

A page header is a struct in Thrift's compact protocol whose second field is the size that the page
unpacks to. The rest of it is only passed over.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gigastream.records.record_input import MAX_PIECE_BYTES

if TYPE_CHECKING:
    from pyarrow.parquet import RowGroupMetaData

    from gigastream.records.parquet_rows import BoundedFile

_HEADER_BYTES = 1 << 14
"""Statistics stand in it, which are cut to some hundred bytes by all who write."""
_UNPACKED, _PACKED = 2, 3
_STOP, _TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _STRUCT = 0, 1, 2, 3, 7, 8, 9, 10, 12
_VARINTS = (4, 5, 6)
_MAX_DEPTH = 8


class PageError(Exception):
    """A page that is none, or too large."""


def check_pages(file: BoundedFile, group: RowGroupMetaData, columns: Sequence[int]) -> None:
    """Raise PageError where a page of these columns unpacks to more than MAX_PIECE_BYTES."""
    for number in columns:
        column = group.column(number)
        at = column.data_page_offset
        if column.has_dictionary_page and 0 < column.dictionary_page_offset < at:
            at = column.dictionary_page_offset
        end = at + column.total_compressed_size
        if not 0 < at <= end <= file.size:
            raise PageError("a column lies outside of the file")
        while at < end:
            at += _page_bytes(file, at)


def _page_bytes(file: BoundedFile, at: int) -> int:
    """The bytes of a page with its header."""
    file.seek(at)
    header = _Header(file.read(_HEADER_BYTES))
    fields = header.struct(0)
    unpacked, packed = fields.get(_UNPACKED, -1), fields.get(_PACKED, -1)
    if not 0 <= unpacked <= MAX_PIECE_BYTES or not 0 <= packed <= MAX_PIECE_BYTES:
        size = max(unpacked, packed)
        raise PageError(f"a page says that it has {size:,} bytes: {MAX_PIECE_BYTES:,} are the most")
    return header.at + packed


class _Header:
    """A struct of Thrift's compact protocol."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.at = 0

    def struct(self, depth: int) -> dict[int, int]:
        """Pass over a struct; return its whole numbers by field."""
        found: dict[int, int] = {}
        field = 0
        while (head := self._byte()) != _STOP:
            step, kind = head >> 4, head & 15
            field = field + step if step else self._zigzag()
            value = self._value(kind, depth)
            if value is not None:
                found[field] = value
        return found

    def _value(self, kind: int, depth: int) -> int | None:
        if depth > _MAX_DEPTH:
            raise PageError("a page header of lists and structs within each other")
        if kind in _VARINTS:
            return self._zigzag()
        if kind in (_TRUE, _FALSE):
            return None
        if kind == _BYTE:
            self._pass(1)
        elif kind == _DOUBLE:
            self._pass(8)
        elif kind == _BINARY:
            self._pass(self._varint())
        elif kind == _STRUCT:
            self.struct(depth + 1)
        elif kind in (_LIST, _SET):
            self._list(depth)
        else:
            raise PageError("a page header that is none")
        return None

    def _list(self, depth: int) -> None:
        head = self._byte()
        count = head >> 4
        for _ in range(self._varint() if count == 15 else count):
            if head & 15 in (_TRUE, _FALSE):
                self._pass(1)
            else:
                self._value(head & 15, depth + 1)

    def _byte(self) -> int:
        self._pass(1)
        return self._data[self.at - 1]

    def _pass(self, size: int) -> None:
        self.at += size
        if self.at > len(self._data):
            raise PageError("a page header that does not end")

    def _varint(self) -> int:
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7

    def _zigzag(self) -> int:
        value = self._varint()
        return (value >> 1) ^ -(value & 1)
