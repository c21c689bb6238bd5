# SPDX-License-Identifier: Apache-2.0
"""Which query set has its turn, in memory that a process shares with those that it forks.

Who watches a process that does nothing more sees there whose turn does not end.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from gigastream.engine._native import ffi
from gigastream.late_dataclass import dataclass

_SIZE = ffi.sizeof("uint64_t")


class TurnWord:
    """The number of the set; 0: none has its turn. Forks that are made later have the same."""

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, _SIZE)
        self.native: Any = ffi.cast("uint64_t *", ffi.from_buffer(self._memory))

    @property
    def number(self) -> int:
        """Of now."""
        return int(self.native[0])

    @contextmanager
    def of(self, number: int) -> Iterator[None]:
        """The turn of a set, as far as it is not the engine's work."""
        self.native[0] = number
        try:
            yield
        finally:
            self.native[0] = 0

    def forget(self) -> None:
        """Whose it was: another process begins."""
        self.native[0] = 0


@dataclass(frozen=True, slots=True)
class Turn:
    """Of a set: where it is written, and how it is called there."""

    word: TurnWord
    number: int
