# SPDX-License-Identifier: Apache-2.0
"""The time at which datagrams come: the wall clock's, as far as it can be believed.

A clock that jumps ahead is believed once it has stayed there; one that steps back at once, and time
stands until it is reached again. A glitch ahead costs nothing, as on a link (OPERATORS section 2,
Ring).
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable

BELIEVED_AFTER_NS = 2 * 10**9
_GRAIN_NS = 10**6
"""Of differences: slewed clocks are not held reading by reading."""


class ArrivalClock:
    """Gives ns since 1970, which never fall."""

    def __init__(
        self,
        wall_ns: Callable[[], int] = time.time_ns,
        monotonic_ns: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        self._wall_ns, self._monotonic_ns = wall_ns, monotonic_ns
        self._offsets: deque[tuple[int, int]] = deque()
        """Wall less monotonic, of the last two seconds and the reading before; the least counts."""
        self._last_ns = 0

    def now(self) -> int:
        """The time, at least that of the call before."""
        passed = self._monotonic_ns()
        offset = (self._wall_ns() - passed) // _GRAIN_NS * _GRAIN_NS
        while self._offsets and self._offsets[-1][1] > offset:
            self._offsets.pop()
        if not self._offsets or self._offsets[-1][1] < offset:
            self._offsets.append((passed, offset))
        while len(self._offsets) > 1 and self._offsets[1][0] <= passed - BELIEVED_AFTER_NS:
            self._offsets.popleft()
        self._last_ns = max(self._last_ns, passed + self._offsets[0][1])
        return self._last_ns
