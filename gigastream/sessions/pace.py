# SPDX-License-Identifier: Apache-2.0
"""Replay by the wall clock (`--speed X`): packets come no sooner than their timestamps say."""

from __future__ import annotations

import time

_SECOND_NS = 1_000_000_000
_UNKNOWN, _END = -(1 << 63), (1 << 63) - 1


class Pace:
    """Maps the wall clock, from the first packet on, to capture time that runs `speed` as fast."""

    def __init__(self, speed: float) -> None:
        self._speed = speed
        self._begin: tuple[float, int] | None = None

    def wait_for(self, upcoming_ns: int, longest_s: float) -> int:
        """The capture time (ns) that has been reached, after a wait for `upcoming_ns`.

        `upcoming_ns` is the next packet's timestamp; of what is at no time there is none, and
        nothing to wait for. Waits at most `longest_s`, so that signals are seen.
        """
        if self._begin is None:
            if upcoming_ns in (_UNKNOWN, _END):
                return _UNKNOWN  # the first packet, whenever it comes, says when it begins
            self._begin = (time.monotonic(), upcoming_ns)
        ahead = (upcoming_ns - self._reached()) / _SECOND_NS / self._speed
        if ahead > 0 and upcoming_ns != _END:
            time.sleep(min(ahead, longest_s))
        return self._reached()

    def _reached(self) -> int:
        assert self._begin is not None
        started, first_ns = self._begin
        ahead = min((time.monotonic() - started) * self._speed * _SECOND_NS, float(_END))
        return min(first_ns + int(ahead), _END)
