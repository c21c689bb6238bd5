# SPDX-License-Identifier: Apache-2.0
"""Connections of TCP whose segments come out of order, twice, never; and such as attack."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from random import Random

from tests.strategies import frames
from tests.strategies.files import Packet

MODULUS = 2**32
FIN, SYN, RST, ACK = 1, 2, 4, 16
MS = 10**6


@dataclass(frozen=True)
class Way:
    """One direction of a connection: how its segments are framed."""

    number: int
    is_ipv6: bool = False
    vlan: int = 0
    is_tunnelled: bool = False

    def frame(self, sequence: int, data: bytes = b"", flags: int = ACK) -> bytes:
        """A segment of it."""
        port = 4000 + self.number % 60_000
        segment = frames.tcp(port, 80, data, flags, sequence=sequence % MODULUS)
        if self.is_ipv6:
            ends = (bytes(15) + b"\1", bytes(15) + b"\2")
            kind, packet = frames.ETHERTYPE_IPV6, frames.ipv6(*ends, frames.TCP, segment)
        else:
            source = 0x0A000001 + self.number // 60_000
            packet = frames.ipv4(source, 0x0A000002, frames.TCP, segment)
            kind = frames.ETHERTYPE_IPV4
        if self.is_tunnelled:
            gre = kind.to_bytes(4, "big")
            packet = frames.ipv4(0xC0000201, 0xC0000202, 47, gre + packet)
            kind = frames.ETHERTYPE_IPV4
        return frames.ethernet(kind, packet, ((0x8100, self.vlan),) if self.vlan else ())


def stream(way: Way, start: int, sizes: Sequence[int]) -> list[bytes]:
    """A connection from its SYN to its FIN, as it was sent."""
    sent, at = [way.frame(start, flags=SYN)], start + 1
    for size in sizes:
        sent.append(way.frame(at, bytes((at + i) % 251 for i in range(size))))
        at += size
    return [*sent, way.frame(at, flags=FIN | ACK)]


def disturbed(random: Random, sent: Iterable[bytes]) -> list[bytes]:
    """The same as it comes: some later than those behind them, some twice, some never."""
    places = []
    for at, frame in enumerate(sent):
        kind = random.random()
        if kind < 0.05:
            continue
        late = random.choice((2, 5, 40)) if kind < 0.3 else 0
        places.append((at + late * random.random(), frame))
        if kind > 0.9:
            places.append((at + 10 * random.random(), frame))
    return [frame for _, frame in sorted(places, key=lambda place: place[0])]


def _way(random: Random, number: int) -> Way:
    kind = random.choice(("plain", "plain", "v6", "vlan", "tunnel"))
    return Way(number, kind == "v6", 7 if kind == "vlan" else 0, kind == "tunnel")


def _sizes(random: Random) -> list[int]:
    most = random.choice((1, 100, 1448))
    return [
        random.choice((0, 1, most, random.randint(1, most))) for _ in range(random.randint(1, 60))
    ]


def _forged(random: Random, way: Way, start: int) -> bytes:
    """A segment that belongs nowhere, near or far; or a SYN, RST or FIN amid the others."""
    far = random.choice((1, 500, 10**6, 2**29, 2**30, 2**31, 2**31 + 1, -1, -(2**30) - 1))
    flags = random.choice((ACK, ACK, SYN, RST, FIN, SYN | FIN | ACK))
    return way.frame(start + far + random.randint(-3, 3), bytes(random.choice((0, 1, 9))), flags)


def _of_way(random: Random, number: int) -> list[bytes]:
    """What comes of a direction: often of two connections, one behind the other."""
    way, frames_ = _way(random, number), []
    for _ in range(random.randint(1, 2)):
        start = random.choice((0, MODULUS - 700, 2**31 - 700, random.randrange(MODULUS)))
        came = disturbed(random, stream(way, start, _sizes(random)))
        for _ in range(random.choice((0, 0, 0, 2))):
            came.insert(random.randint(0, len(came)), _forged(random, way, start))
        frames_ += came
    return frames_


def everything(seed: int, start_ns: int) -> list[Packet]:
    """Some connections, interleaved, with pauses in which patience ends and clocks that lie."""
    random = Random(seed)
    waiting = [_of_way(random, number) for number in range(random.randint(1, 12))]
    waiting.append([frames.ethernet(frames.ETHERTYPE_ARP, bytes(28))] * 20)
    packets, at_ns = [], start_ns
    while any(waiting):
        frame = random.choice([each for each in waiting if each]).pop(0)
        at_ns += random.choice((0, MS, MS, MS, 20 * MS, 900 * MS)) if random.random() < 0.3 else 0
        lies_ns = random.choice((-900, -10, 3000, 10**7)) * MS if random.random() < 0.02 else 0
        packets.append(Packet(max(start_ns - 1000 * MS, at_ns + lies_ns), frame))
    return packets
