# SPDX-License-Identifier: Apache-2.0
"""How often it is looked for what is new: looks cost by the track, and are asked for always."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

SHARE = 0.1
"""Of a core, which looks take at most."""
LONGEST_PAUSE_S = 2.0
"""However long a look takes: one that opens ten thousand spools is the first only."""


class LookPace:
    """Lets looks wait, so that all of them together take their share of a core.

    They wait and are not left out: what there was when Spark asked is in the answer, without which
    `processAllAvailable` would end too soon. Of one track the pause is a millisecond.
    """

    def __init__(
        self,
        now_s: Callable[[], float] = time.monotonic,
        spent_s: Callable[[], float] = time.thread_time,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._now_s = now_s
        self._spent_s = spent_s
        self._sleep = sleep
        self._due_s = 0.0

    @contextmanager
    def look(self) -> Iterator[None]:
        """Look when the last look is paid for; in between nobody need wait."""
        wait_s = self._due_s - self._now_s()
        if wait_s > 0:
            self._sleep(wait_s)
        begun_s = self._spent_s()
        yield
        pause_s = (self._spent_s() - begun_s) * (1 / SHARE - 1)
        self._due_s = self._now_s() + min(pause_s, LONGEST_PAUSE_S)
