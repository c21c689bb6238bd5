# SPDX-License-Identifier: Apache-2.0
"""A capture file that several engines divide among themselves, extent by extent."""

from __future__ import annotations

from typing import Any

from gigastream.engine._native import ffi, lib
from gigastream.engine.batch import EngineError


class Extents:
    """What the readers of one file share: each has it in its source. EngineError."""

    def __init__(self, extent_bytes: int = 0) -> None:
        """Of so many bytes each; 0: as many as suit the caches."""
        self.native: Any = ffi.gc(lib.gs_extents_new(extent_bytes), lib.gs_extents_free)
        if self.native == ffi.NULL:
            raise EngineError("no memory for the readers of a file")

    def end(self) -> None:
        """Let nobody read on behind what is begun: together it is the file up to there.

        From any thread, or a signal's handler.
        """
        lib.gs_extents_end(self.native)
