# SPDX-License-Identifier: Apache-2.0
"""Several engines over the same files: what each is to take of them, and the bytes they share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gigastream.engine._native import ffi, lib
from gigastream.engine.batch import check
from gigastream.late_dataclass import dataclass

MOST_PARTS = 64


class SharedBytes:
    """The bytes of one file, which is read once for all engines. EngineError."""

    def __init__(self, parts: int) -> None:
        """For so many engines, 1 to MOST_PARTS."""
        made, error = ffi.new("struct gs_shared_bytes **"), ffi.new("struct gs_error *")
        check(lib.gs_shared_bytes_new(parts, made, error), error)
        self.native: Any = ffi.gc(made[0], lib.gs_shared_bytes_free)

    def give_up(self) -> None:
        """Let no engine wait for another any more. From any thread."""
        lib.gs_shared_bytes_give_up(self.native)


@dataclass(frozen=True, slots=True)
class Share:
    """What one of several engines takes of the packets that all of them read."""

    part: int
    parts: int
    by_source: bool
    by_destination: bool
    key: int
    """The same for all of them; 64 bits that nobody on the wire knows."""
    files: Sequence[SharedBytes]
    """Of each of the files."""
