# SPDX-License-Identifier: Apache-2.0
"""A TCP port that peers send records to: several at once, each a stream with its own beginning.

Each has a thread, which waits where the engine is slow, and lets its peer wait by TCP. Whoever can
reach the port is believed: it stands behind a firewall, or on 127.0.0.1. A process that may take no
connection has them handed over by another, which listens.
"""

from __future__ import annotations

import select
import socket
from urllib.parse import urlsplit

from gigastream.records.feed import RecordFeed
from gigastream.records.formats import FORMATS
from gigastream.records.peers import RecordPeers, peer_label
from gigastream.records.record_input import SHORT, wait_for_reader
from gigastream.sources.files import SourceError

_LOOK_EVERY_MS = 200


_HINT = "tcp://127.0.0.1:9000, tcp://[::1]:9000, or tcp://0.0.0.0:9000 for every address"


def parse_address(place: str, hint: str = _HINT) -> tuple[str, int]:
    """Read `SCHEME://HOST:PORT`. SourceError."""
    try:
        found = urlsplit(place)
        host, port = found.hostname, found.port
        (host or "").encode("idna")  # as it is looked up, which raises no OSError
    except ValueError:
        host = port = None
    if not host or port is None or found.path or found.query or found.username is not None:
        raise SourceError(f"{place} is no address to listen on", hint)
    return host, port


def listen_at(place: str, format_name: str | None) -> socket.socket:
    """Open a port for peers. SourceError."""
    host, port = parse_address(place)
    if format_name is not None and FORMATS[format_name].is_of_files:
        raise SourceError(f"{place}: {format_name} is read from a file alone", "arrow:tcp://…")
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family, backlog=socket.SOMAXCONN)
    except OSError as problem:
        raise SourceError(f"{place}: {problem.strerror or problem}") from None


class RecordPort:
    """A port that is listened on from its opening to its end."""

    def __init__(self, place: str, format_name: str | None) -> None:
        """Listen. SourceError."""
        self._listener = listen_at(place, format_name)
        self._peers = RecordPeers(format_name)

    @property
    def port(self) -> int:
        """The number, where 0 was asked for."""
        return int(self._listener.getsockname()[1])

    @property
    def notes(self) -> list[str]:
        """Who was let go."""
        return self._peers.notes

    def deliver(self, feed: RecordFeed) -> None:
        """Take peers until nobody wants their records."""
        poll = select.poll()
        poll.register(feed.pipe.descriptor, 0)
        try:
            while True:
                has_room = self._peers.have_room
                poll.register(self._listener, select.POLLIN if has_room else 0)
                found = [descriptor for descriptor, _ in poll.poll(_LOOK_EVERY_MS)]
                if feed.pipe.descriptor in found:
                    raise BrokenPipeError
                if not has_room and self._somebody_waits():
                    self._peers.make_room()
                elif found:
                    self._take(feed)
        finally:
            self._peers.join()

    def close(self) -> None:
        """Listen no more."""
        self._listener.close()

    def _somebody_waits(self) -> bool:
        poll = select.poll()
        poll.register(self._listener, select.POLLIN)
        return bool(poll.poll(0))

    def _take(self, feed: RecordFeed) -> None:
        """Take a peer. BrokenPipeError: nobody wants its records."""
        try:
            connection, address = self._listener.accept()
        except OSError as problem:
            if problem.errno in SHORT:  # it stays in the queue, and would be found at once
                self._peers.make_room()
                wait_for_reader(feed.pipe.descriptor, _LOOK_EVERY_MS / 1000)
            return  # or it has left already
        if not self._peers.take(connection, peer_label(address), feed):
            connection.close()  # threads are short: not for ever
            wait_for_reader(feed.pipe.descriptor, _LOOK_EVERY_MS / 1000)
