# SPDX-License-Identifier: Apache-2.0
"""Small captures of plain packets whose times and groups are what a test is about."""

from __future__ import annotations

import random
from dataclasses import dataclass

from hypothesis import strategies as st

from tests.strategies import frames
from tests.strategies.files import Packet

EPOCH_NS = 1_700_000_000_000_000_000
SECOND_NS = 1_000_000_000
HOST = 0x0A000000
GAPS_NS = (0, 1_000, 40_000_000, SECOND_NS, 4 * SECOND_NS, 10 * SECOND_NS, 25 * SECOND_NS)
STEPS_BACK_NS = (-SECOND_NS, -12 * SECOND_NS, -90 * SECOND_NS)
AHEAD_NS = 1_000 * SECOND_NS
"""How far a lying timestamp is ahead; the next packet knows nothing of it."""


def packet(
    seconds: float, source: int = 0, other: int = 0, payload: int = 0, port: int = 53
) -> Packet:
    """A UDP packet, so many seconds after the epoch of these tests."""
    return udp_packet(EPOCH_NS + round(seconds * SECOND_NS), source, other, payload, port)


def udp_packet(time_ns: int, source: int, other: int, payload: int = 0, port: int = 53) -> Packet:
    """A UDP packet between two hosts, by their numbers."""
    datagram = frames.udp(port, 5000, bytes(payload))
    content = frames.ipv4(HOST + source, HOST + other, frames.UDP, datagram)
    return Packet(time_ns, frames.ethernet(frames.ETHERTYPE_IPV4, content))


def tcp_packet(time_ns: int, source: int, other: int, payload: int = 0, port: int = 53) -> Packet:
    """The same over TCP."""
    segment = frames.tcp(port, 5000, bytes(payload))
    content = frames.ipv4(HOST + source, HOST + other, frames.TCP, segment)
    return Packet(time_ns, frames.ethernet(frames.ETHERTYPE_IPV4, content))


def arp_packet(time_ns: int) -> Packet:
    """A packet that no query over IP takes; its time counts."""
    return Packet(time_ns, frames.ethernet(frames.ETHERTYPE_ARP, bytes(28)))


@dataclass(frozen=True)
class Arrival:
    """One packet of a drawn capture."""

    gap_ns: int
    source: int
    other: int
    payload: int
    kind: int
    """0 to 5: UDP; 6 to 8: TCP; 9: ARP; 10: UDP with a lying timestamp."""

    def made_at(self, time_ns: int) -> Packet:
        """The packet."""
        if self.kind == 9:
            return arp_packet(time_ns)
        make = tcp_packet if 6 <= self.kind <= 8 else udp_packet
        stated_ns = time_ns + AHEAD_NS if self.kind == 10 else time_ns
        return make(stated_ns, self.source, self.other, self.payload)


def packets_of(arrivals: list[Arrival]) -> list[Packet]:
    """The packets, each so long after the one before."""
    time_ns, packets = EPOCH_NS, []
    for arrival in arrivals:
        time_ns += arrival.gap_ns
        packets.append(arrival.made_at(time_ns))
    return packets


def streams(hosts: int = 6, max_packets: int = 80) -> st.SearchStrategy[list[Packet]]:
    """Several windows of packets, mostly forward in time; lists that hypothesis shrinks well."""
    arrivals = st.builds(
        Arrival,
        gap_ns=st.sampled_from(GAPS_NS * 3 + STEPS_BACK_NS),
        source=st.integers(0, hosts - 1),
        other=st.integers(0, 1),
        payload=st.integers(0, 60),
        kind=st.integers(0, 10),
    )
    return st.lists(arrivals, max_size=max_packets).map(packets_of)


def crowd(seed: int, packets: int, hosts: int, seconds: int, back_seconds: int = 0) -> list[Packet]:
    """Many packets, evenly in time but for one in ten that comes late; the same for a seed."""
    chance = random.Random(seed)
    made = []
    for at in range(packets):
        time_ns = EPOCH_NS + seconds * SECOND_NS * at // packets
        if back_seconds and chance.random() < 0.1:
            time_ns -= chance.randrange(back_seconds * SECOND_NS)
        made.append(udp_packet(time_ns, chance.randrange(hosts), 0, chance.randrange(60)))
    return made
