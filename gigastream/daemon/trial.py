# SPDX-License-Identifier: Apache-2.0
"""Finds the query set that crashes the capture process: attached last before it does."""

from __future__ import annotations

import asyncio

from gigastream.daemon.capture_link import CaptureLink
from gigastream.daemon.keeping import AT_ONCE_S, Keeper
from gigastream.daemon.messages import AttachOrder, OrderDone

_CRASHES = 3
"""At once, and in a row, after which a set is sought out."""
_LEAST_S = 1.0
_LOOK_S = 0.1
"""For a report, of which there is one a second."""


class Trial:
    """Begins where capture processes crash at once; ends when all sets have been tried."""

    def __init__(self, keeper: Keeper) -> None:
        self._keeper = keeper
        self.is_on = False
        self.suspect: str | None = None
        """The set that was attached last, for as long as it may still do harm."""
        self._watched_s = _LEAST_S

    def begins(self) -> bool:
        """Whether the capture process that is about to begin is to have no set."""
        keeper = self._keeper
        if not self.is_on and keeper.ended_at_once >= _CRASHES:
            self._watched_s = min(max(2 * keeper.lived_s, _LEAST_S), AT_ONCE_S)
        self.is_on, self.suspect = keeper.ended_at_once >= _CRASHES, None
        return self.is_on

    async def attach(self, name: str, order: AttachOrder) -> OrderDone | None:
        """Attach a set and wait for what it does; None: the capture process is gone."""
        self.suspect = name
        done = await self._keeper.order(order)
        if done.error is None:
            await asyncio.sleep(self._watched_s)
        link = self._keeper.link
        if link is not None and done.error is None:
            await _next_report(link)
        if link is None or not link.is_open:
            return None
        self.suspect = None
        return done


async def _next_report(link: CaptureLink) -> None:
    """Wait for it, or until the watchdog has ended a process that says nothing.

    Who stood still until now, alone or with its host, has not yet done what the set makes it do.
    """
    before = _reported_ns(link)
    while link.is_open and _reported_ns(link) == before:
        await asyncio.sleep(_LOOK_S)


def _reported_ns(link: CaptureLink) -> int | None:
    return None if link.last_report is None else link.last_report.at_ns
