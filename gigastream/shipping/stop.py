# SPDX-License-Identifier: Apache-2.0
"""Whether the end was asked for, waited for by the thread that signals interrupt.

`threading.Event` will not do: its `set` takes the lock that an interrupted `wait` may hold, so that
a handler that calls it waits for its own thread, for ever.
"""

from __future__ import annotations

from contextlib import suppress
from queue import Empty, SimpleQueue


class Stop:
    """Set by a signal's handler, waited for by one thread."""

    def __init__(self) -> None:
        self._is_set = False
        self._woken: SimpleQueue[None] = SimpleQueue()
        """Of C, and made so that `put` may interrupt `get`."""

    def set(self) -> None:
        """Ask for the end. May be called by a signal's handler, more than once."""
        self._is_set = True
        self._woken.put(None)

    def is_set(self) -> bool:
        """Whether the end was asked for."""
        return self._is_set

    def wait(self, seconds: float) -> bool:
        """Wait so long, or until it is set; return whether it is."""
        if not self._is_set:
            with suppress(Empty):
                self._woken.get(timeout=seconds)
        return self._is_set
