# SPDX-License-Identifier: Apache-2.0
"""The answers of several parts of the groups as one, window by window (csrc/runtime/part_order.c)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gigastream.engine._native import ffi, lib
from gigastream.engine.batch import EngineError, NativeBatch, check


class PartOrder:
    """Of one query. EngineError where there is no memory."""

    def __init__(self, parts: int, column: int, batch_rows: int) -> None:
        """Each part's rows are in the order of a column; a batch has at most `batch_rows`."""
        native = lib.gs_part_order_new(parts, column, batch_rows)
        self._native: Any = ffi.gc(native, lib.gs_part_order_free)
        self._error = ffi.new("struct gs_error *")
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
