# SPDX-License-Identifier: Apache-2.0
"""What crashes took, in packets and in time."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence

from gigastream.daemon.messages import CaptureReport, LinkSpec, Loss
from gigastream.daemon.packet_sockets import received_since

_KEPT = 100


class Losses:
    """The last of them, oldest first."""

    def __init__(self) -> None:
        self._all: deque[Loss] = deque(maxlen=_KEPT)
        self._links: Sequence[LinkSpec] = ()
        self._since_ns = 0

    @property
    def all(self) -> tuple[Loss, ...]:
        """As a status tells them."""
        return tuple(self._all)

    def watch(self, links: Sequence[LinkSpec]) -> None:
        """The links whose sockets the kernel counts packets for."""
        self._links = links

    def crash(self, incarnation: int, last: CaptureReport | None, reason: str) -> None:
        """A capture process is gone: take what the kernel has counted that nobody has read."""
        now = time.time_ns()
        self._since_ns = now if last is None else last.at_ns
        packets = dict.fromkeys((link.interface for link in self._links), 0)
        for source in () if last is None else last.sources:
            if source.interface in packets:
                read = source.kernel_dropped + source.read
                packets[source.interface] += max(0, source.kernel_received - read)
        for link in self._links:
            packets[link.interface] += sum(received_since(fd)[0] for fd in link.sockets)
        self._all.append(
            Loss(
                incarnation=incarnation,
                at_ns=now,
                away_ns=now - self._since_ns,
                packets=packets,
                reason=reason,
            )
        )

    def goes_on(self, incarnation: int, at_ns: int) -> None:
        """The next one reads: the gap is over."""
        if self._all and self._all[-1].incarnation == incarnation - 1:
            last = self._all[-1]
            self._all[-1] = Loss(
                incarnation=last.incarnation,
                at_ns=last.at_ns,
                away_ns=at_ns - self._since_ns,
                packets=last.packets,
                reason=last.reason,
            )
