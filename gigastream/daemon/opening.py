# SPDX-License-Identifier: Apache-2.0
"""The supervisor's side of the opener: packet sockets that are asked for."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from collections.abc import Callable
from contextlib import suppress

import msgspec

from gigastream.daemon.launcher import MAX_PACKET_BYTES
from gigastream.daemon.launching import DaemonError, told_end
from gigastream.daemon.opener import Opener, OpenSockets, SocketsOpened
from gigastream.sources.live import RINGS_MAX, LiveSettings

OPENER_LOST = "the opener has ended, without which no link can be opened anew"
_RESTART = "a restart of the daemon opens all links"
_ANSWERED_WITHIN_S = 60.0
"""A ring of GiB takes a while to be made."""


class LinkOpening:
    """Asks the opener, within the running loop; one question at a time."""

    def __init__(self, opener: Opener, lost: Callable[[str], None]) -> None:
        """`lost` is told how the opener has ended."""
        self._opener, self._lost = opener, lost
        self._channel = opener.channel
        self._asks = asyncio.Lock()
        self._number = 0
        self._answer: asyncio.Future[tuple[SocketsOpened, list[int]]] | None = None
        self._channel.setblocking(False)
        asyncio.get_running_loop().add_reader(self._channel, self._hear)

    @property
    def is_lost(self) -> bool:
        """Nobody is there to be asked."""
        return self._channel.fileno() < 0

    async def open(self, device: str, settings: LiveSettings) -> list[int]:
        """The sockets of a link, one a ring, which are the caller's to close. DaemonError."""
        async with self._asks:
            word, descriptors = await self._ask(device, settings)
        if word.error is None and len(descriptors) == settings.fanout:
            return descriptors
        _close(descriptors)
        few = "more files cannot be open at once (ulimit -n, LimitNOFILE=)"
        raise DaemonError(word.error or f"{device}: {few}", word.hint)

    def close(self) -> None:
        """Ask for nothing more: it ends. Once more is harmless."""
        if not self.is_lost:
            asyncio.get_running_loop().remove_reader(self._channel)
            self._channel.close()

    async def _ask(self, device: str, settings: LiveSettings) -> tuple[SocketsOpened, list[int]]:
        if self.is_lost:
            raise DaemonError(OPENER_LOST, _RESTART)
        self._number += 1
        self._answer = asyncio.get_running_loop().create_future()
        request = OpenSockets(number=self._number, device=device, settings=settings)
        try:
            self._channel.send(msgspec.msgpack.encode(request))
            async with asyncio.timeout(_ANSWERED_WITHIN_S):
                return await self._answer
        except (TimeoutError, OSError):
            raise DaemonError(f"{device}: the opener does not answer", _RESTART) from None

    def _hear(self) -> None:
        try:
            packet, descriptors, _, _ = socket.recv_fds(self._channel, MAX_PACKET_BYTES, RINGS_MAX)
        except BlockingIOError:
            return
        except OSError:
            packet, descriptors = b"", []
        if not packet:
            self._end()
            return
        word = msgspec.msgpack.decode(packet, type=SocketsOpened)
        if self._answer is None or self._answer.done() or word.number != self._number:
            _close(descriptors)  # who asked waits no more
        else:
            self._answer.set_result((word, descriptors))

    def _end(self) -> None:
        """It has hung up: whatever it does now, it is over."""
        self.close()
        code = 0
        with suppress(ChildProcessError):
            os.kill(self._opener.pid, signal.SIGKILL)
            code = os.waitstatus_to_exitcode(os.waitpid(self._opener.pid, 0)[1])
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(DaemonError(OPENER_LOST, _RESTART))
        self._lost(f"{OPENER_LOST} ({told_end(code)}): {_RESTART}")


def _close(descriptors: list[int]) -> None:
    for descriptor in descriptors:
        os.close(descriptor)
