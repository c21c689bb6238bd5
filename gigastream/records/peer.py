# SPDX-License-Identifier: Apache-2.0
"""A peer that sends records to a port: its thread, its bytes, and since when it is silent."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterable
from contextlib import suppress

from gigastream.records.feed import RecordFeed
from gigastream.records.formats import FORMATS, MAGIC_BYTES, format_of_bytes, rows_of
from gigastream.records.record_input import RecordInput


class RecordPeer:
    """A connection, which a thread reads to its end. `format_name`: None: what it begins with."""

    def __init__(
        self, connection: socket.socket, name: str, feed: RecordFeed, format_name: str | None
    ) -> None:
        """Take it; it is read from `start` on."""
        self._connection, self._name = connection, name
        self._feed, self._format = feed, format_name
        self._silent_since: float | None = None
        """While bytes are waited for; a peer for which the engine has no time is not silent."""
        self.has_given_way = False
        """It is about to end."""
        self._thread = threading.Thread(target=self._read, daemon=True)

    def start(self) -> None:
        """Read, in a thread. RuntimeError: there can be no more threads."""
        self._thread.start()

    @property
    def is_alive(self) -> bool:
        """Whether it is read still."""
        return self._thread.is_alive()

    @property
    def silence_s(self) -> float:
        """Seconds for which nothing has come; below 0 where it does not count."""
        since = self._silent_since
        return -1.0 if since is None else time.monotonic() - since

    def give_way(self) -> None:
        """End the connection: what it had begun is a record that is none."""
        self.has_given_way = True
        with suppress(OSError):  # it has left by itself
            self._connection.shutdown(socket.SHUT_RDWR)

    def join(self) -> None:
        """Wait until all that it sent is delivered."""
        self._thread.join()

    def _read(self) -> None:
        """Add what it sends; what breaks off with it is a record that is none."""
        with self._connection:
            try:
                self._rows()
                self._feed.flush()
            except BrokenPipeError:
                return
            except Exception as problem:
                self._tell(f"it broke off: {problem}")

    def _tell(self, reason: str) -> None:
        with suppress(BrokenPipeError):
            self._feed.add(reason, self._name)
            self._feed.flush()

    def _rows(self) -> None:
        source = _PeerInput(self._connection.fileno(), self._feed, self)
        name = self._format or format_of_bytes(source.peek(MAGIC_BYTES))
        if FORMATS[name].is_of_files:
            self._feed.add(f"{name} is read from a file alone", self._name)
            return
        for number, values in rows_of(name)(source, self._feed.names):
            self._feed.add(values, f"{self._name}, {FORMATS[name].unit} {number:,}")

    def waits(self, *, is_silent: bool) -> None:
        """Take note that bytes are waited for, or have come."""
        self._silent_since = time.monotonic() if is_silent else None


class _PeerInput(RecordInput):
    """What a peer sends; it tells when it begins to wait, and when it has waited."""

    def __init__(self, descriptor: int, feed: RecordFeed, peer: RecordPeer) -> None:
        def before_wait() -> None:
            feed.before_wait()
            peer.waits(is_silent=True)

        # a process that dies ends its stream like one that is done, wherever it was
        super().__init__(descriptor, feed.pipe.descriptor, before_wait, lambda: True)
        self._peer = peer

    def _read(self, size: int) -> bytes:
        try:
            return super()._read(size)
        finally:
            self._peer.waits(is_silent=False)


def longest_silent(peers: Iterable[RecordPeer], least_s: float) -> RecordPeer | None:
    """The peer that is silent for the longest time, if that is so many seconds."""
    found = max(peers, key=lambda peer: peer.silence_s, default=None)
    return found if found is not None and found.silence_s >= least_s else None
