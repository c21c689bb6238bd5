# SPDX-License-Identifier: Apache-2.0
"""A UDP port that exporters send flow records to.

Datagrams have the time at which they come, and where none comes the clock is told: an exporter
that is silent holds up nobody. What the kernel drops for want of room is told in the account.
"""

from __future__ import annotations

import select
import socket
import struct
import time

from gigastream.records.feed import RecordFeed
from gigastream.records.flow_clock import ArrivalClock
from gigastream.records.flow_rows import FlowDecoding
from gigastream.records.flows.values import address
from gigastream.records.port import parse_address
from gigastream.sources.files import SourceError
from gigastream.words import counted

_HINT = "udp://0.0.0.0:2055, udp://[::]:4739, udp://127.0.0.1:6343"
RECEIVE_BYTES = 1 << 23
"""Of datagrams that wait; the kernel may give less (net.core.rmem_max)."""
TICK_S = 1.0
"""The clock is told so often."""
_MOST_AT_ONCE = 256
"""Datagrams between two looks at the clock."""
_MAX_DATAGRAM_BYTES = 1 << 16
_SO_RXQ_OVFL = 40
_SO_RCVBUFFORCE = 33


class FlowPort:
    """A port that is heard from its opening to its end."""

    def __init__(self, opened: socket.socket) -> None:
        """Hear what open_flow_port has opened, which is taken over."""
        self._socket = opened
        self.dropped = 0
        """Datagrams, by the kernel."""
        self._decoding: FlowDecoding | None = None
        self._clock = ArrivalClock()

    @property
    def port(self) -> int:
        """The number, where 0 was asked for."""
        return int(self._socket.getsockname()[1])

    @property
    def notes(self) -> list[str]:
        """What is missing, by the kernel's count and by the exporters' numbers."""
        found = []
        if self.dropped:
            found.append(f"{counted(self.dropped, 'datagram')} dropped by the kernel")
        if self._decoding is not None and self._decoding.missing:
            found.append(f"{self._decoding.missing:,} missing by the exporters' numbers")
        return found

    def deliver(self, feed: RecordFeed) -> None:
        """Take datagrams until nobody wants their records. BrokenPipeError."""
        self._decoding = FlowDecoding(feed.names)
        poll = select.poll()
        poll.register(feed.pipe.descriptor, 0)
        poll.register(self._socket, select.POLLIN)
        due = time.monotonic()
        while True:
            found = [descriptor for descriptor, _ in poll.poll(TICK_S * 1000)]
            if feed.pipe.descriptor in found:
                raise BrokenPipeError
            if found:
                self._take(feed, self._decoding)
            if time.monotonic() >= due:
                due = time.monotonic() + TICK_S
                feed.tick(self._clock.now())
            feed.flush()

    def close(self) -> None:
        """Hear no more."""
        self._socket.close()

    def _take(self, feed: RecordFeed, decoding: FlowDecoding) -> None:
        """Add the rows of what waits."""
        for _ in range(_MOST_AT_ONCE):
            try:
                data, beside, _, peer = self._socket.recvmsg(_MAX_DATAGRAM_BYTES, 64)
            except BlockingIOError:
                return
            for level, kind, value in beside:
                if (level, kind) == (socket.SOL_SOCKET, _SO_RXQ_OVFL):
                    (self.dropped,) = struct.unpack("=I", value[:4])
            exporter = _packed(peer[0])
            for values in decoding.rows(data, exporter, self._clock.now()):
                feed.add(values, f"exporter {peer[0]}")


def open_flow_port(place: str) -> socket.socket:
    """Open a port for datagrams, with room for those that wait. SourceError."""
    host, port = parse_address(place, _HINT)
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)[0][0]
        opened = socket.socket(family, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)
    except OSError as problem:
        raise SourceError(f"{place}: {problem.strerror or problem}") from None
    try:
        opened.bind((host, port))
        _prepare(opened)
    except OSError as problem:
        opened.close()
        raise SourceError(f"{place}: {problem.strerror or problem}") from None
    return opened


def _prepare(opened: socket.socket) -> None:
    opened.setblocking(False)
    opened.setsockopt(socket.SOL_SOCKET, _SO_RXQ_OVFL, 1)
    try:
        opened.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, RECEIVE_BYTES)
    except PermissionError:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BYTES)


def check_flow_port(place: str, format_name: str | None) -> None:
    """Raise SourceError where it is no address, or something else than flows is to come."""
    parse_address(place, _HINT)
    if format_name not in (None, "flows"):
        raise SourceError(f"{place}: {format_name} does not come by datagrams", "tcp://HOST:PORT")


def _packed(host: str) -> bytes:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    found = address(socket.inet_pton(family, host.partition("%")[0]))
    assert found is not None
    return found
