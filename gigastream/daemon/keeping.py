# SPDX-License-Identifier: Apache-2.0
"""Keeps a capture process running: begins it, watches it, begins the next one where it crashes."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Protocol

from gigastream.daemon.capture_link import CaptureLink
from gigastream.daemon.hangs import TURN
from gigastream.daemon.launcher import NOT_BEGUN
from gigastream.daemon.launching import DaemonError, Launching
from gigastream.daemon.losses import Losses
from gigastream.daemon.messages import CaptureStart, EndOrder, Order, OrderDone, Report

_FIRST_PAUSE_S = 0.1
_LONGEST_PAUSE_S = 30.0
_BEGUN_WITHIN_S = 10.0
"""For the launcher, to whom an end comes first."""
_LOOK_EVERY_S = 1.0
AT_ONCE_S = 10.0
"""A capture process that ends within has ended at once."""


class Told(Protocol):
    """Who is told, for the log."""

    def __call__(self, text: str) -> None:
        """A line for a person."""


class Silence:
    """How long somebody has said nothing while we listened.

    Where the whole host stood still, or we alone (a frozen container, a machine that was moved, no
    memory), that is not the time since the last word: what was said since is heard only then.
    """

    def __init__(self) -> None:
        self.watched_s = 0.0
        self._looked_at = self._spoke_at = 0.0

    def look(self, now: float, spoke_at: float, pause_s: float) -> None:
        """After a pause that was to be so long; what it was longer than twice that is not ours."""
        passed, self._looked_at = now - self._looked_at, now
        if spoke_at != self._spoke_at:
            self._spoke_at, self.watched_s = spoke_at, 0.0
        else:
            self.watched_s += min(passed, 2 * pause_s)


class Keeper:
    """The capture process of now, and those before it."""

    def __init__(
        self,
        launching: Launching,
        start: Callable[[int, dict[str, int]], CaptureStart],
        attached: Callable[[dict[str, OrderDone]], Awaitable[None]],
        heard: Callable[[Report], None],
        told: Told,
        watchdog_s: float,
    ) -> None:
        """`start` gives what an incarnation begins with, by its number and promises.

        `attached` is awaited with what became of each set when one is ready; `heard` gets its
        reports.
        """
        self._launching = launching
        self._start = start
        self._attached = attached
        self._heard = heard
        self._told = told
        self._watchdog_s = watchdog_s
        self.incarnation = 0
        self.restarts = 0
        self.losses: Losses = Losses()
        self.ended_at_once = 0
        """Capture processes in a row that did."""
        self.lived_s = 0.0
        """The last one."""
        self.hung_in: int | None = None
        """The number of the set in whose turn the last one hung; None: it did not hang."""
        self.link: CaptureLink | None = None
        self.is_ready = asyncio.Event()
        """The sets are attached to the process of now."""
        self._numbers = 0
        self._is_ending = False
        self._ends = asyncio.Event()
        """Set when the end is asked for: nobody waits any longer to begin again."""

    @property
    def pid(self) -> int | None:
        """Of the process of now, if there is one."""
        link = self.link
        return link.child.pid.result() if link is not None and link.child.pid.done() else None

    @property
    def is_heard(self) -> bool:
        """Whether there is a capture process that takes orders."""
        return self.link is not None and self.link.is_open

    def next_number(self) -> int:
        """Of an order."""
        self._numbers += 1
        return self._numbers

    async def order(self, order: Order, descriptors: Sequence[int] = ()) -> OrderDone:
        """Give the process of now an order, and what belongs to it."""
        if self.link is None:
            error = "no capture process runs at the moment"
            return OrderDone(number=order.number, error=error, hint="once more in a while")
        return await self.link.order(order, descriptors)

    async def run(self) -> int:
        """Until the input is over, or the end was asked for: 0, or 1 where that went wrong.

        Nobody reads for longer than was read before: the pause grows where one ends at once.
        """
        pause, promises = _FIRST_PAUSE_S, dict[str, int]()
        while not self._is_ending:
            begun = time.monotonic()
            try:
                code = await self._one(promises)
            except DaemonError as error:
                pause = await self._not_begun(error, pause)
                continue
            link, self.link = self.link, None
            self.is_ready.clear()
            assert link is not None
            if self._is_ending or self._is_over(link):
                return self._verdict(link, code)
            if link.last_report is not None:
                promises = {**promises, **link.last_report.promises}
            if not link.was_ready:
                self._refuse_first(link, code)
            self.lived_s = time.monotonic() - begun
            pause = _FIRST_PAUSE_S if self.lived_s > pause else pause * 2
            self._crashed(link, code)
            await self._ends_within(min(pause, _LONGEST_PAUSE_S))
        return 1 if self.restarts else 0

    async def end(self, patience_s: float) -> None:
        """Ask for the end; run() returns when it has come."""
        self._is_ending = True
        self._ends.set()
        link = self.link
        if link is None:
            return
        if self.pid is None:
            patience_s = min(patience_s, _BEGUN_WITHIN_S)
        try:
            async with asyncio.timeout(patience_s):
                await link.order(EndOrder(number=self.next_number()))
                await link.closed.wait()
        except TimeoutError:
            self._told(f"the capture process did not end within {patience_s:g} s: it is killed")
            link.hang_up()

    async def _one(self, promises: dict[str, int]) -> int:
        TURN.forget()
        start = self._start(self.incarnation, promises)
        self.hung_in = None
        child = self._launching.capture()
        link = self.link = CaptureLink(self._launching, child, self._heard, start)
        watch = asyncio.create_task(self._watch(link))
        prepare = asyncio.create_task(self._prepare(link))
        try:
            return await link.run()
        finally:
            watch.cancel()
            prepare.cancel()

    async def _ends_within(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._ends.wait()

    async def _prepare(self, link: CaptureLink) -> None:
        """Attach what is there to be attached, as soon as it can be."""
        await link.ready  # one that never is says nothing, for which the watchdog ends it
        await self._attached({name: await done for name, done in link.begun_with.items()})
        self.is_ready.set()

    async def _watch(self, link: CaptureLink) -> None:
        """End a process that says nothing for too long."""
        look_s, silence = min(_LOOK_EVERY_S, self._watchdog_s / 4), Silence()
        while silence.watched_s < self._watchdog_s:
            await asyncio.sleep(look_s)
            silence.look(asyncio.get_running_loop().time(), link.spoke_at, look_s)
        self._told(f"the capture process has said nothing for {self._watchdog_s:g} s: it is killed")
        link.is_hung, self.hung_in = True, TURN.number
        link.kill()

    async def _not_begun(self, error: DaemonError, pause: float) -> float:
        """There was no way to ask for one. DaemonError if it is the first; the next pause."""
        if self.incarnation == 0:
            raise error
        self._told(f"{error}; it is tried again")
        await self._ends_within(min(pause, _LONGEST_PAUSE_S))
        return pause * 2

    def _crashed(self, link: CaptureLink, code: int) -> None:
        reason = link.told_end
        if link.over is not None and link.over.error is not None:
            reason = link.over.error
        self._told(f"the capture process ended: {reason}; the next one begins")
        soon_s = AT_ONCE_S + (self._watchdog_s if link.is_hung else 0)
        if link.is_hung or code not in (-signal.SIGKILL, NOT_BEGUN):  # or somebody else's doing
            self.ended_at_once = self.ended_at_once + 1 if self.lived_s < soon_s else 0
        self.losses.crash(self.incarnation, link.last_report, reason)
        self.incarnation += 1
        self.restarts += 1

    def _refuse_first(self, link: CaptureLink, code: int) -> None:
        """One that ends by itself before it is ready, and the first, will the next time, too.

        One that a signal ended may have been killed by somebody, or by a set.
        """
        if self.incarnation == 0 and code >= 0:
            raise DaemonError(f"the capture process did not begin: {link.told_end}")

    def _is_over(self, link: CaptureLink) -> bool:
        """The input has ended; or the first one could not even begin it."""
        over = link.over
        if over is None:
            return False
        if over.error is not None and not link.was_ready and self.incarnation == 0:
            raise DaemonError(over.error, over.hint)
        return over.error is None

    def _verdict(self, link: CaptureLink, code: int) -> int:
        over = link.over
        if over is None:
            self._told(f"the capture process did not end well: {link.told_end}")
            return 1
        if over.error is not None:
            self._told(over.error + (f"\nhint: {over.hint}" if over.hint else ""))
        return 0 if over.error is None else 1
