# SPDX-License-Identifier: Apache-2.0
"""Finds the query set that crashes the capture process: attached last before it does."""

from __future__ import annotations

import asyncio

from gigastream.daemon.keeping import AT_ONCE_S, Keeper
from gigastream.daemon.messages import AttachOrder, OrderDone

_CRASHES = 3
"""At once, and in a row, after which a set is sought out."""
_LEAST_S = 1.0
_SILENT_S = 3.0
"""More than between two reports."""


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
        while link is not None and link.is_open and link.silent_s > _SILENT_S:
            await asyncio.sleep(_LEAST_S)  # until it speaks, or the watchdog ends it
        if link is None or not link.is_open:
            return None
        self.suspect = None
        return done
