# SPDX-License-Identifier: Apache-2.0
"""The lines of a track, each handed on when what it lists is there.

A writer lists what is whole. Of a spool that is being copied the manifest may come before its
segments: they are on their way as long as something comes, and a while longer.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable

from gigastream.spool.entry import Entry
from gigastream.spool.track import Track

PATIENCE_SECONDS = 5.0
"""After the last thing that came: then a segment that is not there is lost."""


class Arrivals:
    """What a track lists, as it comes."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._waiting: deque[Entry] = deque()
        self._seen: tuple[int, ...] = ()
        self._since_s = 0.0

    @property
    def are_awaited(self) -> bool:
        """Whether a line waits for its segment, and all behind it."""
        return bool(self._waiting)

    def poll(self, track: Track) -> list[Entry]:
        """Return the lines of a track that are new and whose segments are there, or lost."""
        self._waiting.extend(track.poll())
        come = []
        while self._waiting and (track.has_come(self._waiting[0]) or self._is_lost(track)):
            come.append(self._waiting.popleft())
        return come

    def _is_lost(self, track: Track) -> bool:
        now_s, seen = self._clock(), track.fill(self._waiting[0])
        if seen != self._seen:
            self._seen, self._since_s = seen, now_s
        return now_s - self._since_s >= PATIENCE_SECONDS
