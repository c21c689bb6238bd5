# SPDX-License-Identifier: Apache-2.0
"""Captures from a seed, with something of everything: tags, fragments, both families, texts."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from random import Random

from tests.strategies import frames
from tests.strategies.files import Packet

START_NS = 1_700_000_040 * 10**9
"""The beginning of a minute."""

PORTS = (22, 53, 80, 443, 8080)
TEXTS = (
    b"",
    b"GET /index.html HTTP/1.1\r\nHost: a.example\r\n\r\n",
    b"POST /form HTTP/1.0\r\n\r\n",
    b'HTTP/1.1 200 OK\r\n\r\nbody, with "quotes" and a comma',
    b"\x00\xff\xfe\x80binary\\",
    "grüße".encode(),
    b"one two  three",
)


@dataclass(frozen=True)
class Mixture:
    """What a capture is like; equal ones have equal packets."""

    seed: int
    packets: int = 300
    hosts: int = 6
    seconds: int = 240
    """From the first packet to the last."""
    steps_back: float = 0.1
    """The part of the packets that step back, by up to `back_ms`."""
    back_ms: int = 900
    cut: float = 0.1
    """The part of the packets of which not all was captured."""


def packets_of(mixture: Mixture) -> list[Packet]:
    """Its packets, in the order in which they were captured."""
    chance = Random(mixture.seed)
    return [_packet(mixture, chance, at) for at in range(mixture.packets)]


def _packet(mixture: Mixture, chance: Random, at: int) -> Packet:
    span_ns = mixture.seconds * 10**9
    moment = START_NS + span_ns * at // max(1, mixture.packets)
    if chance.random() < mixture.steps_back:
        moment -= chance.randrange(mixture.back_ms * 10**6)
    data = _frame(chance, mixture.hosts)
    kept = chance.randrange(len(data)) if chance.random() < mixture.cut else len(data)
    return Packet(max(0, moment), data[:kept], len(data))


def _frame(chance: Random, hosts: int) -> bytes:
    kind = chance.random()
    if kind < 0.04:
        return frames.ethernet(frames.ETHERTYPE_ARP, bytes(28))
    if kind < 0.3:
        return _carried(chance, frames.ETHERTYPE_IPV6, _ipv6(chance, hosts))
    return _carried(chance, frames.ETHERTYPE_IPV4, _ipv4(chance, hosts))


def _carried(chance: Random, ethertype: int, packet: bytes) -> bytes:
    kind = chance.random()
    if kind < 0.1:
        return frames.ethernet(ethertype, packet, ((0x8100, chance.randrange(4)),))
    if kind < 0.15:
        tags = ((0x88A8, 100), (0x8100, chance.randrange(3)))
        return frames.ethernet(ethertype, packet, tags)
    if kind < 0.2:
        return frames.ethernet(0x8847, frames.mpls((chance.randrange(3), 16), packet))
    return frames.ethernet(ethertype, packet)


def _ipv4(chance: Random, hosts: int) -> bytes:
    protocol, payload = _transport(chance, frames.ICMP)
    return frames.ipv4(
        _host(chance, hosts),
        _host(chance, hosts),
        protocol,
        payload,
        options=bytes([1] * 4) if chance.random() < 0.05 else b"",
        offset=chance.choice((1, 185)) if chance.random() < 0.05 else 0,
        more=chance.random() < 0.05,
        identification=chance.randrange(1 << 16),
    )


def _host(chance: Random, hosts: int) -> int:
    """Few hosts have most of the traffic."""
    return 0x0A000001 + min(chance.randrange(hosts), chance.randrange(hosts))


def _ipv6(chance: Random, hosts: int) -> bytes:
    protocol, payload = _transport(chance, frames.ICMPV6)
    if chance.random() < 0.1:
        payload = frames.ipv6_fragment(protocol, chance.choice((0, 9)), True) + payload
        protocol = frames.FRAGMENT
    source, destination = (_host_6(chance, hosts) for _ in range(2))
    return frames.ipv6(source, destination, protocol, payload)


def _host_6(chance: Random, hosts: int) -> bytes:
    host = chance.randrange(hosts)
    if host == 2:
        return bytes(10) + b"\xff\xff" + struct.pack("!I", 0x0A000001)
    return bytes.fromhex("20010db8") + host.to_bytes(12, "big")


def _transport(chance: Random, icmp: int) -> tuple[int, bytes]:
    payload = chance.choice(TEXTS) + bytes(chance.choice((0, 0, 30, 700)))
    client, server = 40_000 + chance.randrange(5), chance.choice(PORTS)
    ports = (client, server) if chance.random() < 0.6 else (server, client)
    kind = chance.random()
    if kind < 0.55:
        return frames.TCP, frames.tcp(*ports, payload, flags=chance.choice((2, 16, 17, 18, 24, 4)))
    if kind < 0.9:
        return frames.UDP, frames.udp(*ports, payload)
    if kind < 0.97:
        return icmp, frames.icmp(chance.choice((0, 3, 8, 128, 129)), chance.randrange(3)) + payload
    return 132, payload
