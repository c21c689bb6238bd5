# SPDX-License-Identifier: Apache-2.0
"""A capture process, as the supervisor speaks with it: orders down, reports up."""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress

from gigastream.daemon.framing import FrameError, frame, report_reader
from gigastream.daemon.launching import Child, Launching
from gigastream.daemon.messages import (
    CaptureOver,
    CaptureReady,
    CaptureReport,
    CaptureStart,
    Order,
    OrderDone,
    Report,
)
from gigastream.daemon.start_frames import start_frames

_READ_BYTES = 1 << 18
_BURIED_WITHIN_S = 5.0
"""After it has hung up, its end is known."""
_LOOK_AGAIN_S = 0.01


class CaptureLink:
    """One incarnation, from its launch to its end."""

    def __init__(
        self,
        launching: Launching,
        child: Child,
        heard: Callable[[Report], None],
        start: CaptureStart,
    ) -> None:
        """`heard` gets every report but the ends of orders."""
        self.child = child
        self.ready: asyncio.Future[CaptureReady] = asyncio.get_running_loop().create_future()
        self.last_report: CaptureReport | None = None
        self.over: CaptureOver | None = None
        self.spoke_at = asyncio.get_running_loop().time()
        """When it said something at last."""
        self._launching = launching
        self._heard = heard
        loop = asyncio.get_running_loop()
        self.begun_with = {order.name: loop.create_future() for order in start.sets}
        """What becomes of the orders that it began with, by set."""
        self._waiting: dict[int, asyncio.Future[OrderDone]] = {
            order.number: self.begun_with[order.name] for order in start.sets
        }
        self._start = start
        self._writer: asyncio.StreamWriter | None = None
        self._opened = asyncio.Event()
        """The channel is open, or has been."""
        self.is_hung = False
        """It was killed since it said nothing any more."""
        self.closed = asyncio.Event()
        """It has hung up."""

    @property
    def was_ready(self) -> bool:
        """Whether it got as far as to read."""
        return self.ready.done() and not self.ready.cancelled()

    @property
    def is_open(self) -> bool:
        """Whether it hears orders."""
        return self._writer is not None

    async def run(self) -> int:
        """Hear it until it is gone; its exit code."""
        try:
            reader, self._writer = await asyncio.open_connection(sock=self.child.channel)
            self._writer.writelines(start_frames(self._start))
            self._opened.set()
            frames = report_reader()
            while received := await reader.read(_READ_BYTES):
                self.spoke_at = asyncio.get_running_loop().time()
                for report in frames.feed(received):
                    self._take(report)
        except (FrameError, OSError):
            self.kill()
        finally:
            self._let_go()
        return await self._end()

    async def _end(self) -> int:
        """The exit code; of one whose launcher says nothing of it, what it said at last."""
        try:
            async with asyncio.timeout(_BURIED_WITHIN_S):
                return await asyncio.shield(self.child.ended)
        except TimeoutError:
            self.kill()
        return -signal.SIGKILL if self.over is None else int(self.over.error is not None)

    @property
    def told_end(self) -> str:
        """How it ended, for a person."""
        return self.child.told_end if self.child.ended.done() else "the launcher does not say how"

    async def order(self, order: Order, descriptors: Sequence[int] = ()) -> OrderDone:
        """Give an order and wait until it is carried out, or the process is gone."""
        await self._opened.wait()
        if self._writer is None:
            return _gone(order.number)
        done: asyncio.Future[OrderDone] = asyncio.get_running_loop().create_future()
        self._waiting[order.number] = done
        try:
            if descriptors:
                await self._send_with(self._writer, frame(order), descriptors)
            else:
                self._writer.write(frame(order))
            return await done
        finally:
            self._waiting.pop(order.number, None)

    async def _send_with(
        self, writer: asyncio.StreamWriter, framed: bytes, descriptors: Sequence[int]
    ) -> None:
        """Behind all that waits to be sent; descriptors go with what is sent at once."""
        sent = 0
        while not writer.is_closing():
            if writer.transport.get_write_buffer_size() == 0:
                with suppress(OSError):  # it is full; or they hung up, which is seen elsewhere
                    sent = socket.send_fds(self.child.channel, [framed], descriptors)
            if sent:
                break
            await asyncio.sleep(_LOOK_AGAIN_S)
        writer.write(framed[sent:])

    def kill(self) -> None:
        """End it at once."""
        self._launching.kill(self.child)

    def hang_up(self) -> None:
        """End it at once, and hear it no more, if it is there or not."""
        self.kill()
        if self._writer is not None:
            self._writer.transport.abort()

    def _take(self, report: Report) -> None:
        if isinstance(report, OrderDone):
            waiting = self._waiting.get(report.number)
            if waiting is not None and not waiting.done():
                waiting.set_result(report)
            return
        if isinstance(report, CaptureReady):
            if not self.ready.done():
                self.ready.set_result(report)
        elif isinstance(report, CaptureReport):
            self.last_report = report
        elif isinstance(report, CaptureOver):
            self.over, self.last_report = report, report.report
        self._heard(report)

    def _let_go(self) -> None:
        self._opened.set()
        self.closed.set()
        if self._writer is not None:
            self._writer.close()
            self._writer = None
        if not self.ready.done():
            self.ready.cancel()
        for number, waiting in self._waiting.items():
            if not waiting.done():
                waiting.set_result(_gone(number))


def _gone(number: int) -> OrderDone:
    error = "the capture process ended before it had done it"
    return OrderDone(number=number, error=error, hint="nothing has changed: once more in a while")
