# SPDX-License-Identifier: Apache-2.0
"""What crashes took, in packets and in time."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Iterator

from msgspec.structs import replace

from gigastream.daemon.messages import CaptureReport, Loss
from gigastream.engine.statistics import SourceStatistics

_KEPT = 100


class Losses:
    """The last of them, oldest first."""

    def __init__(self) -> None:
        self._all: deque[Loss] = deque(maxlen=_KEPT)
        self._since_ns = 0
        self._is_open = False
        self._told = Counter[str]()
        """By ring, packets of which a report or a loss has told."""

    @property
    def all(self) -> tuple[Loss, ...]:
        """As a status tells them."""
        return tuple(self._all)

    def crash(self, incarnation: int, last: CaptureReport | None, reason: str) -> None:
        """A capture process is gone, whose last report this was."""
        now = time.time_ns()
        if not self._is_open:  # one that never reported adds nothing to the gap of those before it
            self._since_ns = now
        if last is not None:
            self._since_ns = last.at_ns
            self._told.update({s.label: s.read + s.kernel_dropped for s in _links(last)})
        self._is_open = True
        away = now - self._since_ns
        loss = Loss(incarnation=incarnation, at_ns=now, away_ns=away, packets={}, reason=reason)
        self._all.append(loss)

    def goes_on(self, report: CaptureReport) -> None:
        """The next one reads, and says what the one before has taken and never told of.

        What lies in the ring is not lost: it is read, or among the kernel's drops.
        """
        if not self._is_open:
            return
        self._is_open = False
        packets = Counter[str]()
        for source in _links(report):
            before = source.taken_before + source.dropped_before
            packets[source.interface] += max(0, before - self._told[source.label])
            self._told[source.label] = before
        last = self._all[-1]
        away = report.at_ns - self._since_ns
        self._all[-1] = replace(last, away_ns=away, packets=dict(packets))


def _links(report: CaptureReport) -> Iterator[SourceStatistics]:
    """The rings: files begin again."""
    return (source for source in report.sources if source.link is not None)
