# SPDX-License-Identifier: Apache-2.0
"""The capture process's end of its channel: nothing that is said or heard there makes it wait.

What the other side is too slow for stays here: of reports the newest alone, of tails' rows so many
bytes, of other answers all, which are as many as there were orders, or failures of outputs.
"""

from __future__ import annotations

import math
import os
import select
import socket
import time
from collections import deque
from collections.abc import Iterator

from gigastream.daemon.framing import FrameError, frame, order_reader
from gigastream.daemon.messages import (
    CaptureNote,
    CaptureOver,
    CaptureReady,
    CaptureReport,
    Order,
    OrderDone,
    TailRows,
)
from gigastream.sources.live import RINGS_MAX

_PIECE_BYTES = 1 << 16
TAIL_ROOM_BYTES = 8 << 20
"""Of rows for tails, all together, that wait to be sent."""


class OrderChannel:
    """Orders in, reports out, over a stream socket that somebody else has made."""

    def __init__(self, descriptor: int) -> None:
        """Take it over."""
        self._descriptor = descriptor
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, 0, descriptor)
        self._socket.setblocking(False)
        self._handed: list[int] = []
        self._reader = order_reader()
        self._begun = memoryview(b"")
        """Of a frame, what is still to be sent: a view, so that a long one is not copied anew."""
        self._sure: deque[bytes] = deque()
        self._report: bytes | None = None
        self._tails: deque[bytes] = deque()
        self._tail_bytes = 0
        self._last = b""
        self.is_over = False
        """The other side has ended."""

    # ---- hearing ----

    @property
    def descriptor(self) -> int:
        """It can be read where there are orders."""
        return self._descriptor

    def orders(self) -> Iterator[Order]:
        """Those that have come."""
        while not self.is_over:
            try:
                received = self._receive()
            except BlockingIOError:
                return
            except OSError:
                received = b""
            if not received:
                self.is_over = True
                return
            try:
                yield from self._reader.feed(received)
            except FrameError:  # nothing of what follows can be understood
                self.is_over = True

    def handed(self) -> list[int]:
        """The descriptors that came with the order of now: the caller's to close."""
        found, self._handed = self._handed, []
        return found

    def _receive(self) -> bytes:
        received, descriptors, _, _ = socket.recv_fds(self._socket, _PIECE_BYTES, RINGS_MAX)
        self._handed += descriptors
        return received

    def wait(self, seconds: float) -> None:
        """Until there are orders, where nothing else is to be done."""
        self._wait(select.POLLIN, seconds)

    # ---- saying ----

    def say(self, message: OrderDone | CaptureReady | CaptureNote) -> None:
        """What must arrive."""
        self._sure.append(frame(message))

    def say_last(self, message: CaptureOver) -> None:
        """Behind everything else."""
        self._last = frame(message)

    def report(self, report: CaptureReport) -> None:
        """In the place of an earlier one that has not been sent: it has all that one had."""
        self._report = frame(report)

    def tail(self, rows: TailRows) -> bool:
        """False: there is no room."""
        framed = frame(rows)
        if rows.arrow and self._tail_bytes + len(framed) > TAIL_ROOM_BYTES:
            return False
        self._tails.append(framed)
        self._tail_bytes += len(framed)
        return True

    def flush(self) -> bool:
        """Send what the other side takes now; whether that is all."""
        try:
            while not self.is_over and (self._begun or self._begin()):
                sent = os.write(self._descriptor, self._begun[:_PIECE_BYTES])
                self._begun = self._begun[sent:]
        except BlockingIOError:
            return False
        except OSError:
            self.is_over = True
        return True

    def flush_all(self, seconds: float) -> None:
        """The same at the end: wait for the other side, but not for ever."""
        until = time.monotonic() + seconds
        while not self.flush() and time.monotonic() < until:
            self._wait(select.POLLOUT, max(0, until - time.monotonic()))

    def _wait(self, event: int, seconds: float) -> None:
        """By poll: select knows no descriptor from 1,024 on, and rings have one each."""
        poll = select.poll()
        poll.register(self._descriptor, event)
        poll.poll(math.ceil(1000 * seconds))

    def _begin(self) -> bool:
        """Take up the next frame. Orders' answers first: a tail's precedes its rows."""
        if self._sure:
            self._begun = memoryview(self._sure.popleft())
        elif self._report is not None:
            self._begun, self._report = memoryview(self._report), None
        elif self._tails:
            self._begun = memoryview(self._tails.popleft())
            self._tail_bytes -= len(self._begun)
        else:
            self._begun, self._last = memoryview(self._last), b""
        return bool(self._begun)
