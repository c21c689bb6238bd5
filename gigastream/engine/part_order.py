# SPDX-License-Identifier: Apache-2.0
"""The answers of several parts of the groups as one, window by window.

csrc/runtime/part_order.c has what may go on when.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from gigastream.engine._native import ffi, lib
from gigastream.engine.batch import EngineError, NativeBatch, check
from gigastream.engine.memory import account


class PartOrder:
    """Of one query. EngineError where there is no memory."""

    def __init__(
        self, parts: int, columns: Sequence[int], batch_rows: int, memory_bytes: int | None
    ) -> None:
        """Each part's rows are in the order of these columns; of none: all are of one window.

        A batch has at most `batch_rows`; `memory_bytes` is the setting.
        """
        given, count = ffi.new("uint32_t[]", list(columns)), len(columns)
        native = lib.gs_part_order_new(parts, given, count, batch_rows, account(memory_bytes))
        self._native: Any = ffi.gc(native, lib.gs_part_order_free)
        self._error = ffi.new("struct gs_error *")
        self._count = count
        if native == ffi.NULL:
            raise EngineError("no memory for the order of several threads' windows")

    def add(self, part: int, batch: NativeBatch) -> Iterator[NativeBatch]:
        """Take a batch of a part, with or without rows; yield what may go on by now."""
        added = lib.gs_part_order_add(self._native, part, batch.pointer, self._error)
        check(added, self._error)
        found = ffi.new("struct gs_batch **")
        while True:
            check(lib.gs_part_order_take(self._native, found, self._error), self._error)
            if found[0] == ffi.NULL:
                return
            yield NativeBatch(found[0])

    def bounds(self) -> tuple[list[int], bool]:
        """For each of its columns: no row that is not taken is below; whether there is none more.

        As NativeBatch has them: of a decreasing column the negative.
        """
        native = ffi.new("int64_t[]", self._count)
        has_ended = lib.gs_part_order_bounds(self._native, native)
        return ffi.unpack(native, self._count) if self._count else [], bool(has_ended)
