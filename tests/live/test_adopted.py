# SPDX-License-Identifier: Apache-2.0
"""Rings that outlive their readers: nothing is read twice, and what a reader took along is told."""

from __future__ import annotations

import ctypes
import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gigastream.engine.attached_set import AttachedSet
from gigastream.engine.engine import Engine
from gigastream.engine.live import open_packet_sockets
from gigastream.engine.statistics import SourceStatistics
from gigastream.sources.files import SourceError
from gigastream.sources.live import LiveSettings, adopted_rings
from tests.engine.stepping import plan_of
from tests.live.adopted import BLOCK_BYTES, SETTINGS, TURN_PACKETS, settings_of
from tests.live.namespace import Namespace, wait_for_delivery, wait_until
from tests.processes import program

CLONE_NEWNET = 0x40000000
QUERY = "SELECT timestamp, len FROM PKT"
SEND = """
import socket, sys
link = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
link.bind((sys.argv[1], 0))
for number in range(int(sys.argv[2])):
    ports = (1000 + number).to_bytes(2, "big") + bytes(2)
    header = bytes.fromhex("4500001c0000000040110000" + "0a000001" + "0a000002")
    link.send(bytes(12) + b"\\x08\\x00" + header + ports + bytes(int(sys.argv[3])))
"""
LENGTH = 1000
IN_HAND = 256
"""Packets of a ring that a reader takes at once."""
IN_A_BLOCK = BLOCK_BYTES // LENGTH
"""Packets, by their bytes: some more than fit, since each has a header."""
SMALL = replace(settings_of(1), ring_bytes=1 << 18)
NEVER_NS = 10**12
FILLED = replace(SMALL, retire_ns=NEVER_NS, max_skew_ns=2 * NEVER_NS)
"""Blocks are handed over when they are full, however slowly packets come."""
pytestmark = pytest.mark.privileged


def killed(space: Namespace, rings: int, kills: int, seed: int) -> dict[str, Any]:
    """What readers say of which so many were killed."""
    words = (space.far, space.near, rings, kills, seed)
    found: dict[str, Any] = json.loads(space.run(*program("tests.live.adopted"), *words))
    return found


@pytest.mark.parametrize(("rings", "kills"), [(1, 30), (2, 10)])
def test_readers_that_are_killed_take_nothing_along_but_what_they_had_in_hand(
    space: Namespace, rings: int, kills: int
) -> None:
    said = killed(space, rings, kills, seed=rings)
    seen = [n for reader in said["readers"] for n in reader["numbers"]]
    assert len(seen) == len(set(seen)), "none is seen twice"
    missing = said["sent"] - len(seen)
    assert 0 <= missing <= kills * rings * (IN_HAND + TURN_PACKETS)
    assert set(seen) <= set(range(said["sent"]))
    for source in said["readers"][-1]["counters"][-1]:
        assert source["kernel_dropped"] == 0
        assert source["kernel_received"] == source["read"]
        assert source["unread"] == 0


def send(space: Namespace, count: int) -> None:
    space.run(sys.executable, "-c", SEND, space.near, count, LENGTH)
    wait_for_delivery()


@contextmanager
def opened(space: Namespace, settings: LiveSettings) -> Iterator[tuple[int, ...]]:
    """Packet sockets in the namespace, kept by us, who are not in it."""
    libc = ctypes.CDLL(None, use_errno=True)
    with Path("/proc/self/ns/net").open() as ours, Path("/run/netns", space.name).open() as its:
        assert libc.setns(its.fileno(), CLONE_NEWNET) == 0
        try:
            sockets = open_packet_sockets(space.far, settings)
        finally:
            assert libc.setns(ours.fileno(), CLONE_NEWNET) == 0
    try:
        yield sockets
    finally:
        for number in sockets:
            os.close(number)


class Reader:
    """An engine on sockets that are kept."""

    def __init__(self, space: Namespace, settings: LiveSettings, sockets: Sequence[int]) -> None:
        self.engine = Engine(SETTINGS)
        self.queries = AttachedSet(plan_of(QUERY, ("link",)), SETTINGS)
        with ExitStack() as where_it_fails:
            where_it_fails.callback(self.close)
            for link in adopted_rings("link", space.far, settings, sockets):
                self.engine.add_link(link)
            self.engine.attach(self.queries)
            self.engine.start()
            where_it_fails.pop_all()

    def turn(self, packets: int = TURN_PACKETS) -> bool:
        goes_on = self.engine.run(packets, 10)
        for _ in self.queries.taken():
            pass
        return goes_on

    def sources(self) -> tuple[SourceStatistics, ...]:
        return self.engine.statistics()

    def read(self) -> int:
        return sum(source.read for source in self.sources())

    def turn_until_read(self, count: int) -> None:
        wait_until(lambda: self.turn() and self.read() >= count, f"{count} packets")
        assert self.read() == count

    def turn_until_link_is(self, state: str) -> None:
        wait_until(lambda: self.turn() and {s.link for s in self.sources()} == {state}, state)

    def close(self) -> None:
        self.engine.close()
        self.queries.close()


@contextmanager
def reader(space: Namespace, settings: LiveSettings, sockets: Sequence[int]) -> Iterator[Reader]:
    """One, that is closed in the end as it is."""
    made = Reader(space, settings, sockets)
    try:
        yield made
    finally:
        made.close()


def test_a_ring_says_how_full_it_is(space: Namespace) -> None:
    settings = settings_of(1)  # one has room for all, were there a block for each
    with opened(space, settings) as sockets, reader(space, settings, sockets) as one:
        assert [(s.ring_blocks, s.ring_used) for s in one.sources()] == [(settings.block_count, 0)]
        send(space, 2 * IN_A_BLOCK)
        wait_until(lambda: one.sources()[0].ring_used >= 2, "blocks to be handed over")
        one.turn_until_read(2 * IN_A_BLOCK)
        wait_until(lambda: one.turn() and one.sources()[0].ring_used == 0, "the last block")


@pytest.mark.parametrize("rings", [1, 2])
def test_the_next_reader_begins_where_the_one_before_ended(space: Namespace, rings: int) -> None:
    """None before the first one; what comes while there is none is the next one's."""
    settings = settings_of(rings)
    with opened(space, settings) as sockets:
        send(space, 3)
        with reader(space, settings, sockets) as one:
            send(space, 40)
            one.turn_until_read(40)
        for _ in range(3):
            send(space, 30)
            with reader(space, settings, sockets) as one:
                assert sum(s.kernel_received for s in one.sources()) == 30
                send(space, 20)
                one.turn_until_read(50)
                assert {s.kernel_dropped for s in one.sources()} == {0}


def test_a_ring_that_was_full_is_read_on_from_where_the_one_before_was(space: Namespace) -> None:
    sent = 6 * IN_A_BLOCK
    with opened(space, FILLED) as sockets:
        with reader(space, FILLED, sockets) as one:
            send(space, sent)
            one.turn()
            (before,) = one.sources()
            assert before.read == TURN_PACKETS
        with reader(space, FILLED, sockets) as one:
            assert one.sources()[0].ring_used == one.sources()[0].ring_blocks
            wait_until(lambda: one.turn() and one.sources()[0].ring_used == 0, "the ring")
            (source,) = one.sources()
            dropped = before.kernel_dropped + source.kernel_dropped
            taken = sent - dropped - source.read
            assert before.read <= taken <= IN_HAND
            assert dropped > 0
        send(space, 3 * IN_A_BLOCK)  # all blocks were given back since it was full
        with reader(space, FILLED, sockets) as one:
            wait_until(lambda: one.turn() and one.read() >= 2 * IN_A_BLOCK, "two blocks")
            assert one.sources()[0].kernel_dropped == 0


def test_a_link_that_goes_between_two_readers_is_awaited(space: Namespace) -> None:
    settings = settings_of(1)
    with opened(space, settings) as sockets:
        with reader(space, settings, sockets):
            send(space, 30)
        space.ip("link", "del", space.far)
        with reader(space, settings, sockets) as one:
            assert one.sources()[0].link == "gone"
            one.turn_until_read(30)
            space.plug()
            one.turn_until_link_is("up")
            send(space, 20)
            one.turn_until_read(50)
        space.ip("link", "del", space.far)
        space.plug()
        with reader(space, settings, sockets) as one:
            send(space, 10)
            one.turn_until_read(10)


def test_a_device_of_another_type_that_has_the_name_between_two_readers_is_not_read(
    space: Namespace,
) -> None:
    """What was captured before is still Ethernet's, and so is the link that is awaited."""
    settings = settings_of(1)
    with opened(space, settings) as sockets:
        with reader(space, settings, sockets):
            send(space, 30)
        tunnel(space)
        with reader(space, settings, sockets) as one:
            one.turn_until_read(30)
            assert one.sources()[0].link == "gone"
            space.ip("link", "del", space.far)
            space.plug()
            one.turn_until_link_is("up")
            send(space, 20)
            one.turn_until_read(50)


def tunnel(space: Namespace) -> None:
    """In the place of the cable: packets of IP, of no hardware."""
    if space.far in space.run("ip", "link", "show"):
        space.ip("link", "del", space.far)
    space.ip("tuntap", "add", space.far, "mode", "tun")
    space.ip("link", "set", space.far, "up")


def test_a_link_without_ethernet_that_goes_between_two_readers_is_awaited(space: Namespace) -> None:
    settings = settings_of(1)
    tunnel(space)
    with opened(space, settings) as sockets:
        with reader(space, settings, sockets):
            pass
        space.ip("link", "del", space.far)
        with reader(space, settings, sockets) as one:
            assert one.sources()[0].link == "gone"
            tunnel(space)
            one.turn_until_link_is("down")  # nobody holds its other end


def test_rings_whose_link_goes_are_read_out_and_lost(space: Namespace) -> None:
    settings = settings_of(2)
    with opened(space, settings) as sockets:
        with reader(space, settings, sockets):
            send(space, 30)
        space.ip("link", "del", space.far)
        space.plug()
        with reader(space, settings, sockets) as one:
            wait_until(lambda: not one.turn(), "the end")
            assert {source.link for source in one.sources()} == {"lost"}
            assert one.read() == 30


def test_a_link_that_is_down_when_its_ring_is_adopted_is_read_when_it_is_up(
    space: Namespace,
) -> None:
    for rings in (1, 2):
        settings = settings_of(rings)
        with opened(space, settings) as sockets:
            space.ip("link", "set", space.far, "down")
            with reader(space, settings, sockets) as one:
                assert {source.link for source in one.sources()} == {"down"}
                space.ip("link", "set", space.far, "up")
                space.wait_until_up(space.near, space.far)
                one.turn_until_link_is("up")
                send(space, 20)
                one.turn_until_read(20)


def test_what_cannot_be_opened_or_adopted_is_refused(space: Namespace) -> None:
    with pytest.raises(SourceError, match="nowhere: there is no such network interface"):
        open_packet_sockets("nowhere", SMALL)
    space.ip("link", "set", space.far, "down")
    with pytest.raises(SourceError, match="far: it is down"), opened(space, settings_of(2)):
        pass
    with opened(space, SMALL) as sockets:
        other = replace(SMALL, ring_bytes=1 << 19)
        with pytest.raises(SourceError, match="is not of 8 blocks of 65536 bytes"):
            Reader(space, other, sockets)
