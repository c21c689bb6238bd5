# SPDX-License-Identifier: Apache-2.0
"""A TCP port that peers send records to: several at once, each a stream with its own beginning.

Each has a thread, which waits where the engine is slow, and lets its peer wait by TCP. Whoever can
reach the port is believed: it stands behind a firewall, or on 127.0.0.1.
"""

from __future__ import annotations

import select
import socket
import threading
from urllib.parse import urlsplit

from gigastream.records.feed import RecordFeed
from gigastream.records.formats import FORMATS, MAGIC_BYTES, format_of_bytes, rows_of
from gigastream.records.record_input import RecordInput
from gigastream.sources.files import SourceError

PREFIX = "tcp://"
MAX_PEERS = 64
"""At once; others wait until one has gone."""
_LOOK_EVERY_MS = 200


_HINT = "tcp://127.0.0.1:9000, tcp://[::1]:9000, or tcp://0.0.0.0:9000 for every address"


def parse_address(place: str, hint: str = _HINT) -> tuple[str, int]:
    """Read `SCHEME://HOST:PORT`. SourceError."""
    try:
        found = urlsplit(place)
        host, port = found.hostname, found.port
    except ValueError:
        host = port = None
    if not host or port is None or found.path or found.query or found.username is not None:
        raise SourceError(f"{place} is no address to listen on", hint)
    return host, port


class RecordPort:
    """A port that is listened on from its opening to its end."""

    def __init__(self, place: str, format_name: str | None) -> None:
        """Listen. SourceError."""
        host, port = parse_address(place)
        if format_name is not None and FORMATS[format_name].is_of_files:
            raise SourceError(f"{place}: {format_name} is read from a file alone", "arrow:tcp://…")
        self._format = format_name
        try:
            family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
            self._listener = socket.create_server((host, port), family=family, backlog=MAX_PEERS)
        except OSError as problem:
            raise SourceError(f"{place}: {problem.strerror or problem}") from None
        self._peers: set[threading.Thread] = set()

    @property
    def port(self) -> int:
        """The number, where 0 was asked for."""
        return int(self._listener.getsockname()[1])

    def deliver(self, feed: RecordFeed) -> None:
        """Take peers until nobody wants their records."""
        poll = select.poll()
        poll.register(feed.pipe.descriptor, 0)
        try:
            while True:
                self._peers = {peer for peer in self._peers if peer.is_alive()}
                has_room = len(self._peers) < MAX_PEERS
                poll.register(self._listener, select.POLLIN if has_room else 0)
                found = [descriptor for descriptor, _ in poll.poll(_LOOK_EVERY_MS)]
                if feed.pipe.descriptor in found:
                    raise BrokenPipeError
                if found and has_room:
                    self._take(feed.beside())
        finally:
            for peer in self._peers:
                peer.join()

    def close(self) -> None:
        """Listen no more."""
        self._listener.close()

    def _take(self, feed: RecordFeed) -> None:
        try:
            peer, address = self._listener.accept()
        except OSError:  # it has left already, or there are too many descriptors
            return
        label = f"peer {address[0]} port {address[1]}"
        thread = threading.Thread(target=self._read, args=(peer, label, feed), daemon=True)
        self._peers.add(thread)
        thread.start()

    def _read(self, peer: socket.socket, label: str, feed: RecordFeed) -> None:
        """Add what a peer sends; what breaks off with it is a record that is none."""
        with peer:
            try:
                self._rows(peer, label, feed)
                feed.flush()
            except BrokenPipeError:
                return
            except Exception as problem:
                self._tell(f"it broke off: {problem}", label, feed)

    @staticmethod
    def _tell(reason: str, label: str, feed: RecordFeed) -> None:
        try:
            feed.add(reason, label)
            feed.flush()
        except BrokenPipeError:
            return

    def _rows(self, peer: socket.socket, label: str, feed: RecordFeed) -> None:
        # a process that dies ends its stream like one that is done, wherever it was
        source = RecordInput(peer.fileno(), feed.pipe.descriptor, feed.before_wait, lambda: True)
        name = self._format or format_of_bytes(source.peek(MAGIC_BYTES))
        if FORMATS[name].is_of_files:
            feed.add(f"{name} is read from a file alone", label)
            return
        for number, values in rows_of(name)(source, feed.names):
            feed.add(values, f"{label}, {FORMATS[name].unit} {number:,}")
