# SPDX-License-Identifier: Apache-2.0
"""So many packets and no more, whichever thread reads them."""

from __future__ import annotations

import threading

_SHARE_MAX = 1 << 20


class PacketLimit:
    """Packets that may still be read, given out in shares."""

    def __init__(self, packets: int, readers: int = 1) -> None:
        """`readers` take shares, each in a thread of its own."""
        self._left = packets
        self._given = 0
        self._readers = readers
        self._lock = threading.Lock()

    def take(self) -> int:
        """Return how many may be read now; 0: none, until another reader gives some back."""
        with self._lock:
            share = min(_SHARE_MAX, -(-self._left // self._readers))
            self._left -= share
            self._given += share
            return share

    def give_back(self, share: int, read: int) -> None:
        """Return what was not read of a share."""
        with self._lock:
            self._given -= share
            self._left += share - read

    @property
    def is_used_up(self) -> bool:
        """Whether all have been read."""
        with self._lock:
            return self._left == 0 == self._given
