# SPDX-License-Identifier: Apache-2.0
"""Links of several rings that were removed: opened anew when a device has their name again.

A link of one ring the capture process binds again by itself, which needs no capability.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Sequence

from gigastream.daemon.input_messages import LinkSpec
from gigastream.daemon.keeping import Keeper
from gigastream.daemon.launching import DaemonError, Launching
from gigastream.daemon.logs import DaemonLog
from gigastream.daemon.messages import CaptureReport, RenewOrder
from gigastream.daemon.opening import LinkOpening

_LOOK_EVERY_S = 0.25
"""For a device of the name."""
_LONGEST_PAUSE_S = 10.0
"""Between two attempts to open one that is there."""
_READ_OUT_S = 0.1
"""Between two attempts to hand its sockets over."""
_READ_OUT_TIMES = 50
_LOST = (
    "{}: the link was removed; its rings (fanout) cannot be bound again, and nothing more comes of "
    "it: restart the daemon; with reopen-links = true it opens such links anew"
)
_NOBODY_OPENS = (
    "{}: the link was removed, and the opener, which would open its rings (fanout) anew, has "
    "ended: restart the daemon"
)


class Reopening:
    """Hears what becomes of the links, and has them opened, within the running loop."""

    def __init__(
        self,
        links: Sequence[LinkSpec],
        opening: LinkOpening | None,
        keeper: Keeper,
        launching: Launching,
        told: DaemonLog,
    ) -> None:
        """Without an opener it says what is lost."""
        self._links, self._opening = links, opening
        self._keeper, self._launching, self._told = keeper, launching, told
        self._gone: set[int] = set()
        """Places of links that are gone, by the last report."""
        self._lost: set[int] = set()
        self._work: dict[int, asyncio.Task[None]] = {}

    def take(self, report: CaptureReport) -> None:
        """The newest report."""
        self._gone = _places(self._links, report, "gone")
        if self._opening is None:
            self._tell_lost(_places(self._links, report, "lost"), _LOST)
            return
        if self._opening.is_lost:
            self._tell_lost(self._gone, _NOBODY_OPENS)
            return
        for place in self._gone - self._work.keys():
            self._work[place] = asyncio.create_task(self._reopen(place, self._opening))

    def _tell_lost(self, lost: set[int], why: str) -> None:
        """Once."""
        for place in sorted(lost - self._lost):
            self._told(why.format(self._links[place].device))
        self._lost = lost

    def close(self) -> None:
        """No link is opened any more."""
        for task in self._work.values():
            task.cancel()
        if self._opening is not None:
            self._opening.close()

    async def _reopen(self, place: int, opening: LinkOpening) -> None:
        """Until it is there again, or nobody is who could open it."""
        device, pause = self._links[place].device, _LOOK_EVERY_S
        before = told = ""
        try:
            while place in self._gone and not opening.is_lost:
                await asyncio.sleep(pause)
                if not _is_there(device):
                    pause = _LOOK_EVERY_S
                    continue
                problem = await self._try(place, opening)
                if problem is None:
                    self._told(f"{device} is back: its rings are opened anew")
                    return
                if problem == before != told:  # a link that has just come is not up yet
                    self._told(f"{problem}; it is tried again")
                    told = problem
                pause, before = min(2 * pause, _LONGEST_PAUSE_S), problem
        finally:
            del self._work[place]

    async def _try(self, place: int, opening: LinkOpening) -> str | None:
        """Open it, and give it to whoever reads; None, or what went wrong, for a person."""
        link = self._links[place]
        try:
            sockets = await opening.open(link.device, link.settings)
        except DaemonError as error:
            return str(error)
        try:
            return await self._hand_over(place, sockets)
        finally:
            for descriptor in sockets:
                os.close(descriptor)

    async def _hand_over(self, place: int, sockets: Sequence[int]) -> str | None:
        """To the capture process, which goes on with them; then they are ours and the launcher's.

        So the rings outlive their readers, under the numbers that they had at the start.
        """
        for _ in range(_READ_OUT_TIMES):
            order = RenewOrder(number=self._keeper.next_number(), link=place)
            done = await self._keeper.order(order, sockets)
            if done.error is None:
                self._keep(self._links[place], sockets)
            if not done.is_too_early:
                break
            await asyncio.sleep(_READ_OUT_S)
        return done.error

    def _keep(self, link: LinkSpec, sockets: Sequence[int]) -> None:
        for new, ours in zip(sockets, link.sockets, strict=True):
            os.dup2(new, ours, inheritable=False)
        self._launching.renew(link.sockets)


def _places(links: Sequence[LinkSpec], report: CaptureReport, state: str) -> set[int]:
    """The links of several rings of which one is in a state; their sources are the first."""
    found, first = set(), 0
    for place, link in enumerate(links):
        end = first + len(link.sockets)
        rings = report.sources[first:end]
        if len(link.sockets) > 1 and any(source.link == state for source in rings):
            found.add(place)
        first = end
    return found


def _is_there(device: str) -> bool:
    try:
        socket.if_nametoindex(device)
    except OSError:
        return False
    return True
