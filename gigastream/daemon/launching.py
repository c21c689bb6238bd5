# SPDX-License-Identifier: Apache-2.0
"""The supervisor's side of the launcher: children that are asked for, and how they ended."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import time
from collections.abc import Callable, Sequence
from contextlib import suppress

import msgspec

from gigastream.daemon.launcher import (
    MAX_PACKET_BYTES,
    ChildEnded,
    ChildStarted,
    ForkOrder,
    KillChild,
    LaunchCapture,
    LaunchCompiler,
    LauncherReady,
    LauncherWord,
    LaunchLoader,
    RenewSockets,
)
from gigastream.late_dataclass import dataclass, field

_BURIED_WITHIN_S = 5.0
"""A launcher that has nothing to do any more ends at once."""
_LOOK_AGAIN_S = 0.02


LAUNCHER_LOST = "the launcher has ended: no process can be begun any more"


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
    error: str | None = None
    """Why there was no process."""
    watched: int = -1
    """A descriptor of the process, once there is one, and until it has ended."""

    @property
    def told_end(self) -> str:
        """How it ended, for a person, when it has."""
        return self.error or told_end(self.ended.result())

    def kill(self) -> None:
        """End it, whatever the launcher does meanwhile."""
        if self.watched >= 0:
            with suppress(OSError):  # it has ended by itself
                signal.pidfd_send_signal(self.watched, signal.SIGKILL)

    def let_go(self) -> None:
        """Of its process."""
        if self.watched >= 0:
            os.close(self.watched)
        self.watched = -1


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

    def capture(self) -> Child:
        """Begin a capture process, which waits for its start. DaemonError."""
        return self._launch(lambda number: LaunchCapture(number=number))

    def compiler(self) -> Child:
        """Begin a compile helper. DaemonError."""
        return self._launch(lambda number: LaunchCompiler(number=number))

    def loader(self) -> Child:
        """Begin a loader, which waits for its start. DaemonError."""
        return self._launch(lambda number: LaunchLoader(number=number))

    def kill(self, child: Child) -> None:
        """End a child at once."""
        child.kill()
        if child.number in self._children and self._channel.fileno() >= 0:
            with suppress(OSError):  # a launcher that is gone is told of by `lost`
                self._channel.send(msgspec.msgpack.encode(KillChild(number=child.number)))

    def renew(self, sockets: Sequence[int]) -> None:
        """Let what is begun from now on inherit what is now behind these numbers."""
        if self._channel.fileno() >= 0:
            packet = msgspec.msgpack.encode(RenewSockets(numbers=tuple(sockets)))
            with suppress(OSError):  # a launcher that is gone is told of by `lost`
                socket.send_fds(self._channel, [packet], sockets)

    def close(self) -> None:
        """Ask for nothing more: the launcher ends with its last child. Once more is harmless."""
        if self._channel.fileno() >= 0:
            asyncio.get_running_loop().remove_reader(self._channel)
            self._channel.close()

    def _launch(self, order: Callable[[int], ForkOrder]) -> Child:
        if self._channel.fileno() < 0:
            raise DaemonError(LAUNCHER_LOST)
        try:
            ours, theirs = socket.socketpair()
        except OSError as error:
            raise DaemonError(f"no process could be begun: {error.strerror}") from None
        self._count += 1
        try:
            packet = msgspec.msgpack.encode(order(self._count))
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
        descriptors: list[int] = []
        try:
            packet, descriptors, _, _ = socket.recv_fds(self._channel, MAX_PACKET_BYTES, 1)
        except BlockingIOError:
            return
        except OSError:
            packet = b""
        if not packet:
            self.close()
            self._lost()
            return
        self._take(self._decoder.decode(packet), descriptors)

    def _take(self, word: LauncherWord, descriptors: Sequence[int]) -> None:
        if isinstance(word, ChildStarted):
            child = self._children[word.number]
            child.watched = descriptors[0] if descriptors else -1
            _settle(child.pid, word.pid)
        elif isinstance(word, ChildEnded):
            child = self._children.pop(word.number)
            child.let_go()
            child.error = word.error
            _settle(child.ended, word.code)


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
    try:
        return f"signal {-code} ({signal.Signals(-code).name})"
    except ValueError:
        return f"signal {-code}"


def wait_for(pid: int, patience_s: float = _BURIED_WITHIN_S) -> None:
    """Wait until the launcher, which is our child, is no more; one that does not end is ended."""
    until = time.monotonic() + patience_s
    with suppress(ChildProcessError):
        while os.waitpid(pid, os.WNOHANG) == (0, 0):
            if time.monotonic() > until:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
                return
            time.sleep(_LOOK_AGAIN_S)


def _settle(future: asyncio.Future[int], value: int) -> None:
    """Unless who waited for it was cancelled, and it with them."""
    if not future.done():
        future.set_result(value)


def _future() -> asyncio.Future[int]:
    return asyncio.get_running_loop().create_future()
