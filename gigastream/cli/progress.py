# SPDX-License-Identifier: Apache-2.0
"""How far a run has come, in bytes, on a line of the terminal that rows push aside."""

from __future__ import annotations

import time
from collections.abc import Callable

from gigastream.cli.stderr import Line, is_terminal

FIRST_SECONDS = 0.5
"""A run that is shorter shows nothing."""
EVERY_SECONDS = 0.2


class Progress:
    """A line such as `123 MB of 1.2 GB (10 %), 450 MB/s` on stderr, if that is a terminal."""

    def __init__(self, position: Callable[[], tuple[int, int]], wanted: bool) -> None:
        """`position` gives the bytes read and in all (0: unknown), of all sources."""
        self.line = Line()
        self._position = position
        self._started = time.monotonic()
        self._due = self._started + FIRST_SECONDS if wanted and is_terminal() else float("inf")

    def begin(self) -> None:
        """Nothing is told before it has taken its time."""

    def tick(self) -> None:
        """Show the line anew if it is time."""
        now = time.monotonic()
        if now >= self._due:
            self._due = now + EVERY_SECONDS
            self._show(now - self._started)

    def clear(self) -> None:
        """Remove the line, so that something else can be written."""
        self.line.clear()

    def finish(self) -> None:
        """Remove the line for good."""
        self.line.clear()

    def _show(self, seconds: float) -> None:
        done, total = self._position()
        share = f" of {in_bytes(total)} ({100 * done // total} %)" if total else ""
        self.line.show(f"{in_bytes(done)}{share}, {in_bytes(done / seconds)}/s")


def in_bytes(count: float) -> str:
    """Return a number of bytes in three digits and a unit."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 999.5:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} TB"
