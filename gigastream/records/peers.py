# SPDX-License-Identifier: Apache-2.0
"""The peers of a port: so many at once, and of silent ones one gives way to who waits."""

from __future__ import annotations

import select
import socket

from gigastream.records.feed import RecordFeed
from gigastream.records.peer import RecordPeer, longest_silent
from gigastream.words import counted

MAX_PEERS = 64
"""At once; others wait until one has gone, or has been silent for so long:"""
SILENCE_S = 60.0


class RecordPeers:
    """Those that send at the moment, a thread each. `format_name`: None: what each begins with."""

    def __init__(self, format_name: str | None) -> None:
        """Nobody is there yet."""
        self._format = format_name
        self._peers: set[RecordPeer] = set()
        self._gone = 0

    @property
    def have_room(self) -> bool:
        """Whether there is a place for one more."""
        self.forget_gone()
        return len(self._peers) < MAX_PEERS

    @property
    def notes(self) -> list[str]:
        """Who was let go."""
        gone = counted(self._gone, "silent peer")
        return [f"{gone} let go, since others waited"] if self._gone else []

    def take(self, connection: socket.socket, label: str, feed: RecordFeed) -> bool:
        """Read what a peer sends, to its end. False: threads are short, it stays the caller's."""
        peer = RecordPeer(connection, label, feed.beside(), self._format)
        try:
            peer.start()
        except RuntimeError:
            self.make_room()
            return False
        self._peers.add(peer)
        return True

    def forget_gone(self) -> None:
        """Those that have ended have no place any more."""
        self._peers = {peer for peer in self._peers if peer.is_alive}

    def make_room(self) -> None:
        """Somebody waits: let the peer go that is silent for the longest time, if one is."""
        if any(peer.has_given_way for peer in self._peers):
            return
        silent = longest_silent(self._peers, SILENCE_S)
        if silent is not None:
            silent.give_way()
            self._gone += 1

    def join(self) -> None:
        """Wait until all have seen that nobody wants their records."""
        for peer in self._peers:
            peer.join()


class HandedPeers:
    """Peers of a port that another process listens on, as they are handed over."""

    def __init__(self, format_name: str | None) -> None:
        """Nobody is there yet."""
        self._peers = RecordPeers(format_name)
        self._feed: RecordFeed | None = None

    @property
    def notes(self) -> list[str]:
        """Who was let go."""
        return self._peers.notes

    def take(self, connection: socket.socket, label: str) -> bool:
        """Take one over. False: there is no room yet, and it stays the caller's."""
        if self._feed is None:
            return False
        if not self._peers.have_room:
            self._peers.make_room()
            return False
        return self._peers.take(connection, label, self._feed)

    def make_room(self) -> None:
        """Somebody waits, for whom there is no descriptor."""
        self._peers.forget_gone()
        self._peers.make_room()

    def deliver(self, feed: RecordFeed) -> None:
        """Let those that come be read until nobody wants their records. BrokenPipeError."""
        self._feed = feed
        poll = select.poll()
        poll.register(feed.pipe.descriptor, 0)
        poll.poll()
        self._feed = None
        self._peers.join()
        raise BrokenPipeError

    def close(self) -> None:
        """Nothing stays open."""


def peer_label(address: tuple[str, int]) -> str:
    """What a peer is called in messages."""
    return f"peer {address[0]} port {address[1]}"
