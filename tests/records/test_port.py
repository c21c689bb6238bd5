# SPDX-License-Identifier: Apache-2.0
"""A port whose peers are silent, or cannot be taken."""

from __future__ import annotations

import errno
import os
import socket
import threading
from contextlib import suppress
from typing import Any

import pytest
from records.asked import row, source_of

from gigastream.records import peers as peers_module
from gigastream.records import port as port_module
from gigastream.records.feed import Pipe, RecordFeed
from gigastream.records.peer import RecordPeer
from gigastream.records.port import RecordPort
from tests.waiting import PATIENCE_S, wait_until

STREAM = source_of("-").stream
LINES = "{}\n{}\n".format(
    ",".join(row()), ",".join(f'"{value}"' for value in row(name="third").values())
).encode()


class Delivery:
    """A port that is delivered to a pipe, which a thread empties."""

    def __init__(self) -> None:
        self.port = RecordPort("tcp://127.0.0.1:0", "csv")
        self._reader, writer = os.pipe()
        self.data = b""
        feed = RecordFeed(STREAM, Pipe(writer), is_patient=False)
        self._threads = [threading.Thread(target=self._deliver, args=(feed,))]
        self._threads += [threading.Thread(target=self._empty)]
        for thread in self._threads:
            thread.start()

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port.port))

    def _deliver(self, feed: RecordFeed) -> None:
        with suppress(BrokenPipeError):
            self.port.deliver(feed)
        self.port.close()
        feed.pipe.close()

    def _empty(self) -> None:
        while b"third" not in self.data:
            self.data += os.read(self._reader, 4096)
        os.close(self._reader)

    def join(self) -> None:
        for thread in self._threads:
            thread.join(PATIENCE_S)
            assert not thread.is_alive()


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peers_module, "MAX_PEERS", 2)
    monkeypatch.setattr(peers_module, "SILENCE_S", 0.0)


@pytest.mark.usefixtures("few")
def test_silent_peers_give_way_to_who_waits() -> None:
    delivery = Delivery()
    silent = [delivery.connect() for _ in range(2)]
    third = delivery.connect()
    third.sendall(LINES)
    delivery.join()
    assert b"third" in delivery.data
    assert delivery.port.notes == ["1 silent peer let go, since others waited"]
    for peer in (*silent, third):
        peer.close()


@pytest.mark.usefixtures("few")
def test_silent_peers_stay_where_nobody_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[bool] = []
    somebody_waits = RecordPort._somebody_waits

    def look(port: RecordPort) -> bool:
        looked.append(somebody_waits(port))
        return looked[-1]

    monkeypatch.setattr(RecordPort, "_somebody_waits", look)
    delivery = Delivery()
    silent, speaking = delivery.connect(), delivery.connect()
    wait_until(lambda: len(looked) > 2, "looks at a port that is full")
    assert delivery.port.notes == []
    speaking.sendall(LINES)
    delivery.join()
    assert delivery.port.notes == []
    silent.close()
    speaking.close()


def _failing(monkeypatch: pytest.MonkeyPatch, *, accepts: bool) -> list[float]:
    """The waits of a port that cannot take its only peer; the third one ends it."""
    waits: list[float] = []

    def wait(_writer: int, seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 3:
            raise BrokenPipeError

    def accept(_listener: socket.socket) -> None:
        raise OSError(errno.EMFILE, "Too many open files")

    def start(_peer: RecordPeer) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(port_module, "wait_for_reader", wait)
    if accepts:
        monkeypatch.setattr(RecordPeer, "start", start)
    else:
        monkeypatch.setattr(socket.socket, "accept", accept)
    return waits


def test_silent_peers_give_way_where_descriptors_are_short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Be there places left or not."""
    monkeypatch.setattr(peers_module, "SILENCE_S", 0.0)
    delivery = Delivery()
    silent = delivery.connect()
    wait_until(lambda: bool(delivery.port._peers._peers), "the silent peer to be taken")
    accept = socket.socket.accept

    def short(listener: socket.socket) -> Any:
        if not delivery.port.notes:
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        return accept(listener)

    monkeypatch.setattr(socket.socket, "accept", short)
    speaking = delivery.connect()
    speaking.sendall(LINES)
    delivery.join()
    assert delivery.port.notes == ["1 silent peer let go, since others waited"]
    silent.close()
    speaking.close()


@pytest.mark.parametrize("accepts", [True, False], ids=["threads", "files"])
def test_who_cannot_be_taken_is_waited_for(accepts: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    place = RecordPort("tcp://127.0.0.1:0", None)
    waits = _failing(monkeypatch, accepts=accepts)
    peers = [socket.create_connection(("127.0.0.1", place.port)) for _ in range(3)]
    reader, writer = os.pipe()
    with pytest.raises(BrokenPipeError):
        place.deliver(RecordFeed(STREAM, Pipe(writer), is_patient=False))
    assert waits == [0.2] * 3
    place.close()
    os.close(reader)
    os.close(writer)
    for peer in peers:
        peer.close()


def test_peers_that_come_all_at_once_wait_in_the_kernel() -> None:
    """One that the kernel has no place for tries again after a second, and 64 then come at once."""
    place = RecordPort("tcp://127.0.0.1:0", "csv")
    many = [socket.create_connection(("127.0.0.1", place.port), timeout=5) for _ in range(100)]
    place.close()
    for peer in many:
        peer.close()
