# SPDX-License-Identifier: Apache-2.0
"""The timer in replay: it fires as H passes a period, and after so many packets without that."""

from __future__ import annotations

from tests.models.bounds import END, Bound
from tests.models.source_time import HeartbeatTimer


class Heartbeats:
    """Both kinds of heartbeats of one interface; 0 is none of that kind."""

    def __init__(self, period_ns: int, packets: int) -> None:
        self._timer = HeartbeatTimer(period_ns) if period_ns else None
        self._packets = packets
        self._since = 0

    def before_packet(self, high: Bound) -> bool:
        """Whether one fires by time, before the packet that brought H here enters."""
        is_due = self._timer is not None and high != END and self._timer.due(high)
        self._since = 0 if is_due else self._since
        return is_due

    def after_packet(self) -> bool:
        """Whether one fires by number, behind this packet; late ones and others count alike."""
        self._since += 1
        is_due = self._since == self._packets
        self._since = 0 if is_due else self._since
        return is_due
