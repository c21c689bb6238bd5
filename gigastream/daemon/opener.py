# SPDX-License-Identifier: Apache-2.0
"""The opener: a process that keeps CAP_NET_RAW alone, and opens packet sockets for the supervisor.

It is made before anything else is open, and does one thing: a request over its socket of sequenced
packets names a device and how it is captured; the answer brings its sockets, of the kind that are
opened at the start, by the same code. They take no packet before somebody reads them.
"""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Sequence
from contextlib import suppress

import msgspec

from gigastream.daemon.launcher import MAX_PACKET_BYTES, end_with
from gigastream.daemon.launching import DaemonError, wait_for
from gigastream.engine.batch import EngineError
from gigastream.engine.live import open_packet_sockets
from gigastream.engine.privileges import confine, keep_packet_sockets
from gigastream.late_dataclass import dataclass
from gigastream.sources.files import SourceError
from gigastream.sources.live import RINGS_MAX, LiveSettings


class OpenSockets(msgspec.Struct, frozen=True, kw_only=True):
    """A request: a link's packet sockets, one a ring."""

    number: int
    device: str
    settings: LiveSettings


class SocketsOpened(msgspec.Struct, frozen=True, kw_only=True):
    """The answer, with which they come; or why they do not. Number 0: the opener is ready."""

    number: int = 0
    error: str | None = None
    hint: str | None = None


@dataclass(frozen=True)
class Opener:
    """The process, and the socket to it."""

    pid: int
    channel: socket.socket

    def end(self) -> None:
        """Hang up, and wait for its end."""
        self.channel.close()
        wait_for(self.pid)


def start_opener(user: str) -> Opener:
    """Fork it: it becomes `user` where we are root. DaemonError.

    Call it with one thread, before anything is open that it is not to have.
    """
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    pid = os.fork()
    if pid == 0:
        ours.close()
        end_with(lambda: _run(theirs, user))
    theirs.close()
    opener = Opener(pid, ours)
    packet = ours.recv(MAX_PACKET_BYTES)
    word = msgspec.msgpack.decode(packet, type=SocketsOpened) if packet else None
    if word is None or word.error is not None:
        opener.end()
        what = "it has ended" if word is None else word.error
        hint = None if word is None else word.hint
        raise DaemonError(f"the opener (reopen-links) cannot begin: {what}", hint)
    return opener


def _run(channel: socket.socket, user: str) -> int:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # it ends when the supervisor does
    try:
        keep_packet_sockets(user)
        confine([], "opener")
    except (EngineError, SourceError) as error:
        hint = getattr(error, "hint", None)
        _say(channel, SocketsOpened(error=str(error), hint=hint))
        return 1
    _say(channel, SocketsOpened())
    while packet := channel.recv(MAX_PACKET_BYTES):
        _answer(channel, msgspec.msgpack.decode(packet, type=OpenSockets))
    return 0


def _answer(channel: socket.socket, request: OpenSockets) -> None:
    sockets: tuple[int, ...] = ()
    word = SocketsOpened(number=request.number)
    try:
        sockets = _open(request)
    except SourceError as error:
        told, hint = str(error), getattr(error, "hint", None)
        word = SocketsOpened(number=request.number, error=told, hint=hint)
    _say(channel, word, sockets)
    for descriptor in sockets:
        os.close(descriptor)


def _open(request: OpenSockets) -> tuple[int, ...]:
    if not 1 <= request.settings.fanout <= RINGS_MAX:
        raise SourceError(f"{request.device}: from 1 to {RINGS_MAX} rings")
    return open_packet_sockets(request.device, request.settings)


def _say(channel: socket.socket, word: SocketsOpened, descriptors: Sequence[int] = ()) -> None:
    with suppress(OSError):  # a supervisor that is gone is seen by the next recv
        socket.send_fds(channel, [msgspec.msgpack.encode(word)], descriptors)
