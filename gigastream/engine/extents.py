# SPDX-License-Identifier: Apache-2.0
"""Capture files that several engines divide among themselves, extent by extent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gigastream.engine._native import ffi, lib
from gigastream.engine.batch import EngineError
from gigastream.engine.host import Scanned
from gigastream.late_dataclass import dataclass


class Extents:
    """What the readers of files share: each has a DividedFile in its sources. EngineError."""

    def __init__(self, files: int, readers: int, extent_bytes: int = 0) -> None:
        """Of so many bytes each; 0: as many as suit the caches."""
        made = lib.gs_extents_new(files, readers, extent_bytes)
        self.native: Any = ffi.gc(made, lib.gs_extents_free)
        if self.native == ffi.NULL:
            raise EngineError("no memory for the readers of a file")
        self._scanned: dict[int, Scanned] = {}

    def end(self) -> None:
        """Let nobody read on behind what is begun: together it is each file up to there.

        From any thread, or a signal's handler.
        """
        lib.gs_extents_end(self.native)

    def scanned(self, file: int, scan: Callable[[], Scanned]) -> Scanned:
        """What is known of a file before it is opened, of which the first who asks finds out."""
        if file not in self._scanned:
            self._scanned[file] = scan()
        return self._scanned[file]


@dataclass(frozen=True, slots=True)
class DividedFile:
    """One of the files, and who of its readers has this source; both count from 0."""

    extents: Extents
    file: int
    reader: int
