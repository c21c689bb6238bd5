# SPDX-License-Identifier: Apache-2.0
"""The supervisor's side of the launcher: children that are asked for, and how they ended."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

import msgspec

from gigastream.daemon.launcher import (
    MAX_PACKET_BYTES,
    ChildEnded,
    ChildStarted,
    KillChild,
    LaunchCapture,
    LaunchCompiler,
    LauncherReady,
    LauncherWord,
)
from gigastream.daemon.messages import CaptureStart


class DaemonError(Exception):
    """The daemon cannot begin, or not go on."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


@dataclass(eq=False)
class Child:
    """A process that the launcher has forked, or is about to."""

    number: int
    channel: socket.socket
    """Our end."""
    pid: asyncio.Future[int] = field(default_factory=lambda: _future())
    ended: asyncio.Future[int] = field(default_factory=lambda: _future())
    """Its exit code, or less than 0 where a signal ended it."""


class Launching:
    """Asks the launcher, within the running loop."""

    def __init__(self, channel: socket.socket, lost: Callable[[], None]) -> None:
        """`lost` is called when the launcher has ended, without which nothing begins again."""
        self._channel = channel
        self._lost = lost
        self._children: dict[int, Child] = {}
        self._count = 0
        self._decoder = msgspec.msgpack.Decoder(LauncherWord)
        channel.setblocking(False)
        asyncio.get_running_loop().add_reader(channel, self._hear)

    def capture(self, start: CaptureStart) -> Child:
        """Begin a capture process."""
        return self._launch(lambda number: LaunchCapture(number=number, start=start))

    def compiler(self) -> Child:
        """Begin a compile helper."""
        return self._launch(lambda number: LaunchCompiler(number=number))

    def kill(self, child: Child) -> None:
        """End a child at once."""
        if child.number in self._children:
            with suppress(OSError):  # a launcher that is gone is told of by `lost`
                self._channel.send(msgspec.msgpack.encode(KillChild(number=child.number)))

    def close(self) -> None:
        """Ask for nothing more: the launcher ends with its last child."""
        if self._channel.fileno() >= 0:
            asyncio.get_running_loop().remove_reader(self._channel)
            self._channel.close()

    def _launch(self, order: Callable[[int], LaunchCapture | LaunchCompiler]) -> Child:
        self._count += 1
        ours, theirs = socket.socketpair()
        packet = msgspec.msgpack.encode(order(self._count))
        try:
            if len(packet) > MAX_PACKET_BYTES:
                raise DaemonError("too many links for one capture process", "several daemons")
            socket.send_fds(self._channel, [packet], [theirs.fileno()])
        except OSError as error:
            ours.close()
            raise DaemonError(f"the launcher does not answer: {error.strerror}") from None
        finally:
            theirs.close()
        ours.setblocking(False)
        child = Child(self._count, ours)
        self._children[child.number] = child
        return child

    def _hear(self) -> None:
        try:
            packet = self._channel.recv(MAX_PACKET_BYTES)
        except BlockingIOError:
            return
        except OSError:
            packet = b""
        if not packet:
            self.close()
            self._lost()
            return
        self._take(self._decoder.decode(packet))

    def _take(self, word: LauncherWord) -> None:
        if isinstance(word, ChildStarted):
            self._children[word.number].pid.set_result(word.pid)
        elif isinstance(word, ChildEnded):
            self._children.pop(word.number).ended.set_result(word.code)


def wait_until_ready(channel: socket.socket) -> None:
    """Wait until the launcher has loaded all and given up what it had. DaemonError."""
    packet = channel.recv(MAX_PACKET_BYTES)
    word = msgspec.msgpack.decode(packet, type=LauncherReady) if packet else None
    if word is None:
        raise DaemonError("the launcher has ended before it was ready")
    if word.error is not None:
        raise DaemonError(word.error, word.hint)


def told_end(code: int) -> str:
    """How a process ended, for a person."""
    if code >= 0:
        return f"exit code {code}"
    import signal

    try:
        return f"signal {-code} ({signal.Signals(-code).name})"
    except ValueError:
        return f"signal {-code}"


def wait_for(pid: int) -> None:
    """Wait until the launcher, which is our child, is no more."""
    try:
        os.waitpid(pid, 0)
    except ChildProcessError:
        return


def _future() -> asyncio.Future[int]:
    return asyncio.get_running_loop().create_future()
