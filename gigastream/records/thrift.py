# SPDX-License-Identifier: Apache-2.0
"""Structs of Thrift's compact protocol, of which what is wanted is kept and the rest passed over.

Parquet's footer and the headers of its pages are such structs. What damage declares is no matter
here: nothing is larger than the bytes that are read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Wanted = Mapping[int, Any]
"""By number of field: None of a whole number; what is wanted of a struct; a list of one such, of a
list of structs."""
_STOP, _TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _STRUCT = 0, 1, 2, 3, 7, 8, 9, 10, 12
_VARINTS = (4, 5, 6)
_MAX_DEPTH = 8
_MAX_STRUCTS = 1 << 18
"""That are kept."""
_MAX_VARINT_BITS = 70
_LONG = 15
"""The number of a list's items stands behind its first byte."""


class ThriftError(Exception):
    """Bytes that are no struct, or one that is too large."""


class CompactReader:
    """Bytes, and how many of them have been read."""

    def __init__(self, data: bytes) -> None:
        """Begin with the first."""
        self._data = data
        self.at = 0
        self._structs = 0

    def struct(self, wanted: Wanted, depth: int = 0) -> dict[int, Any]:
        """Read a struct; what is not there, or of another kind, is missing. ThriftError."""
        if depth > _MAX_DEPTH:
            raise ThriftError("lists and structs within each other")
        found: dict[int, Any] = {}
        field = 0
        while (head := self._byte()) != _STOP:
            step, kind = head >> 4, head & 15
            field = field + step if step else self._zigzag()
            if field in wanted and (value := self._value(kind, wanted[field], depth)) is not None:
                found[field] = value
            elif field not in wanted:
                self._pass(kind, depth)
        return found

    def _value(self, kind: int, wanted: Wanted | list[Wanted] | None, depth: int) -> Any:
        """Read a field that is wanted; None: it is of another kind, and was passed over."""
        if wanted is None and kind in _VARINTS:
            return self._zigzag()
        if isinstance(wanted, Mapping) and kind == _STRUCT:
            return self._kept(wanted, depth)
        if isinstance(wanted, list) and kind == _LIST:
            count, items = self._list()
            if items == _STRUCT:
                return [self._kept(wanted[0], depth) for _ in range(count)]
            self._pass_items(count, items, depth)
            return None
        self._pass(kind, depth)
        return None

    def _kept(self, wanted: Wanted, depth: int) -> dict[int, Any]:
        self._structs += 1
        if self._structs > _MAX_STRUCTS:
            raise ThriftError(f"more than {_MAX_STRUCTS:,} structs")
        return self.struct(wanted, depth + 1)

    def _pass(self, kind: int, depth: int) -> None:
        if kind in _VARINTS:
            self._varint()
        elif kind == _BYTE:
            self._skip(1)
        elif kind == _DOUBLE:
            self._skip(8)
        elif kind == _BINARY:
            self._skip(self._varint())
        elif kind == _STRUCT:
            self.struct({}, depth + 1)
        elif kind in (_LIST, _SET):
            self._pass_items(*self._list(), depth)
        elif kind not in (_TRUE, _FALSE):
            raise ThriftError("a field of no kind that there is")

    def _pass_items(self, count: int, kind: int, depth: int) -> None:
        if depth >= _MAX_DEPTH:
            raise ThriftError("lists and structs within each other")
        for _ in range(count):
            self._pass(_BYTE if kind in (_TRUE, _FALSE) else kind, depth + 1)

    def _list(self) -> tuple[int, int]:
        """How many items of which kind."""
        head = self._byte()
        return self._varint() if head >> 4 == _LONG else head >> 4, head & 15

    def _byte(self) -> int:
        self._skip(1)
        return self._data[self.at - 1]

    def _skip(self, size: int) -> None:
        self.at += size
        if self.at > len(self._data):
            raise ThriftError("it does not end")

    def _varint(self) -> int:
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7
            if shift >= _MAX_VARINT_BITS:
                raise ThriftError("a number of more than 64 bits")

    def _zigzag(self) -> int:
        value = self._varint()
        return (value >> 1) ^ -(value & 1)
