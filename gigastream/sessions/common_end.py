# SPDX-License-Identifier: Apache-2.0
"""Where several readers of the same packets end: all of them behind the same packet."""

from __future__ import annotations

import threading

_TURN_PACKETS = 1 << 20


class CommonEnd:
    """The packet behind which all end; it may be set while they read."""

    def __init__(self, readers: int, packets_max: int | None) -> None:
        """`packets_max`: where it is before anybody stops; None: where the input ends."""
        self._lock = threading.RLock()  # a signal may stop whoever is about to
        self._end = packets_max
        self._begun = [0] * readers
        """How far each may have come before it asks again."""

    def begin(self, reader: int, read: int) -> int:
        """How many packets a reader that has read so many may read now; 0: it is at the end."""
        with self._lock:
            left = _TURN_PACKETS if self._end is None else self._end - read
            turn = min(_TURN_PACKETS, left)
            self._begun[reader] = read + turn
            return turn

    def stop(self) -> None:
        """End as soon as all can end behind the same packet. May be called by a signal handler."""
        with self._lock:
            soon = max(self._begun)
            self._end = soon if self._end is None else min(self._end, soon)


class ReaderLimit:
    """The common end as the limit of one reader (sessions/limit.py)."""

    def __init__(self, end: CommonEnd, reader: int) -> None:
        """Of this reader, who has read nothing."""
        self._common, self._reader, self._read = end, reader, 0

    def take(self) -> int:
        """Return how many packets may be read now; 0: no more."""
        return self._common.begin(self._reader, self._read)

    def give_back(self, _share: int, read: int) -> None:
        """Say how many of them have been read."""
        self._read += read

    @property
    def is_used_up(self) -> bool:
        """Nobody gives anything back to others."""
        return True
