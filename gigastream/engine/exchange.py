# SPDX-License-Identifier: Apache-2.0
"""Engines that divide a file and exchange rows: each has part of the groups."""

from __future__ import annotations

from typing import Any

from gigastream.engine._native import ffi, lib
from gigastream.engine.batch import EngineError
from gigastream.engine.memory import account
from gigastream.late_dataclass import dataclass


class Exchange:
    """What the engines share. EngineError."""

    def __init__(self, parts: int, memory_bytes: int | None) -> None:
        """Among so many, at most 64; `memory_bytes` is the setting."""
        native = lib.gs_exchange_new(parts, account(memory_bytes))
        self.native: Any = ffi.gc(native, lib.gs_exchange_free)
        if self.native == ffi.NULL:
            raise EngineError(f"no memory for rows that {parts} threads exchange")

    def end(self) -> None:
        """Let nobody wait for the others any longer: there is no answer. From any thread."""
        lib.gs_exchange_end(self.native)


@dataclass(frozen=True, slots=True)
class GroupShare:
    """Which of the groups an engine has."""

    exchange: Exchange
    number: int
