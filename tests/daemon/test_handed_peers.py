# SPDX-License-Identifier: Apache-2.0
"""Peers that were handed over, where descriptors are short."""

from __future__ import annotations

import os
import socket
import threading
from contextlib import suppress

import pytest

from gigastream.daemon.input_messages import PeerOrder, StreamSpec
from gigastream.daemon.renewing import TooEarlyError
from gigastream.daemon.stream_readers import StreamReaders
from gigastream.gsql.catalog.build import load_catalog
from gigastream.gsql.catalog.catalog import RecordLayout
from gigastream.records import peers
from gigastream.records.feed import Pipe, RecordFeed
from gigastream.records.peers import HandedPeers
from tests.records.asked import DEFINITIONS
from tests.waiting import PATIENCE_S, wait_until


def deliver(handed: HandedPeers, layout: RecordLayout, writer: int) -> None:
    """As the thread of the port does."""
    with suppress(BrokenPipeError):
        handed.deliver(RecordFeed(layout, Pipe(writer), is_patient=False))


def test_a_silent_peer_gives_way_to_one_whose_connection_did_not_come(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(peers, "SILENCE_S", 0.0)
    layout = load_catalog([DEFINITIONS]).streams["events"].layout
    spec = StreamSpec(layout=layout, place="tcp://127.0.0.1:9000", has_peers=True)
    readers = StreamReaders((spec,), {})
    reader, writer = os.pipe()
    handed = readers._peers[0]
    delivery = threading.Thread(target=deliver, args=(handed, layout, writer))
    delivery.start()
    ours, theirs = socket.socketpair()
    order = PeerOrder(number=1, stream=0, label="peer 127.0.0.1 port 9")

    def is_taken() -> bool:
        with suppress(TooEarlyError):
            readers.take(order, [os.dup(theirs.fileno())])
            return True
        return False

    def has_given_way() -> bool:
        with suppress(TooEarlyError):
            readers.take(order, [])
        return handed.notes != []

    wait_until(is_taken, "a place for the first peer")
    theirs.close()
    wait_until(has_given_way, "the silent peer to be let go")
    assert ours.recv(1) == b""
    ours.close()
    os.close(reader)
    delivery.join(PATIENCE_S)
    os.close(writer)
