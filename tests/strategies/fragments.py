# SPDX-License-Identifier: Apache-2.0
"""Fragments of datagrams, built by scapy, which puts them together too; and such as attack."""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from random import Random
from typing import Any

from scapy.compat import raw
from scapy.layers.inet import ICMP, IP, TCP, UDP, fragment
from scapy.layers.inet6 import IPv6, IPv6ExtHdrDestOpt, IPv6ExtHdrFragment, fragment6
from scapy.layers.l2 import GRE, Dot1Q, Ether
from scapy.layers.vxlan import VXLAN

from tests.strategies.files import Packet

MACS = {"src": "0a:00:00:00:00:01", "dst": "0a:00:00:00:00:02"}
SECOND = 10**9


def datagram_4(id_: int = 7, size: int = 100, port: int = 53, source: str = "10.0.0.1") -> Any:
    """A datagram of UDP, or of TCP for port 80, that can be cut."""
    ports = {"sport": 4000 + id_ % 50, "dport": port}
    transport = TCP(**ports, flags="PA") if port == 80 else UDP(**ports)
    data = bytes(at % 251 for at in range(size))
    return IP(src=source, dst="10.0.0.2", id=id_) / transport / data


def datagram_6(size: int = 2000) -> Any:
    """The same of IPv6, with the header that says where it is to be cut.

    One of another size is another one: without an id of its own scapy gives it one at random.
    """
    ends = {"src": "2001:db8::1", "dst": "2001:db8::2"}
    head = IPv6(**ends) / IPv6ExtHdrFragment(id=size) / IPv6ExtHdrDestOpt()
    return head / UDP(sport=5353, dport=5353) / (b"x" * size)


def parts_4(packet: Any, size: int = 32) -> list[Any]:
    """Fragments of IPv4 with so many bytes of payload, in order."""
    return list(fragment(packet, fragsize=size))


def parts_6(packet: Any, mtu: int = 700) -> list[Any]:
    """Fragments of IPv6."""
    return list(fragment6(packet, mtu))


def piece_4(begin: int, data: bytes, *, more: bool, id_: int) -> Any:
    """One fragment, whatever the others say; `begin` counts eight bytes."""
    ends = {"src": "10.0.0.3", "dst": "10.0.0.4"}
    return IP(**ends, id=id_, frag=begin, flags="MF" if more else 0, proto=17) / data


def framed(packets: list[Any]) -> list[bytes]:
    """Ethernet around each."""
    return [raw(Ether(**MACS) / packet) for packet in packets]


@cache
def honest() -> dict[str, list[bytes]]:
    """Frames of datagrams that can be put together, by what is shown."""
    vxlan = IP(src="192.0.2.1", dst="192.0.2.2", id=9) / UDP(sport=1, dport=4789) / VXLAN(flags=8)
    carried = vxlan / Ether(**MACS) / datagram_4(11, 200)
    ends = {"src": "192.0.2.1", "dst": "192.0.2.2"}
    inner = [IP(**ends) / GRE() / part for part in parts_4(datagram_4(12))]
    both = [
        part
        for number, each in enumerate(parts_4(datagram_4(13, 150), 80))
        for part in parts_4(IP(src="192.0.2.8", dst="192.0.2.9", id=number) / GRE() / each, 40)
    ]
    first, *rest = parts_4(datagram_4(14))
    pieces = [(vlan, part) for part in parts_4(datagram_4(15)) for vlan in (2, 3)]
    tagged = [Ether(**MACS) / Dot1Q(vlan=vlan) / part for vlan, part in pieces]
    return {
        "in order": framed(parts_4(datagram_4(1))),
        "backwards": framed(parts_4(datagram_4(2))[::-1]),
        "of TCP": framed(parts_4(datagram_4(3, 300, port=80), 64)),
        "of ICMP": framed(parts_4(IP(src="10.0.0.1", dst="10.0.0.2", id=4) / ICMP() / bytes(99))),
        "tiny, ports apart": framed(parts_4(datagram_4(5, 60, port=80), 8)),
        "one of them twice": framed([rest[0], rest[0], first, first, *rest[1:]]),
        "of two VLANs": [raw(frame) for frame in tagged],
        "of IPv6": framed(parts_6(datagram_6())),
        "of IPv6, backwards": framed(parts_6(datagram_6(3000))[::-1]),
        "of IPv6, whole": framed([datagram_6(20)]),
        "around a tunnel": framed(parts_4(carried, 64)),
        "in a tunnel": framed(inner),
        "around and in a tunnel": framed(both),
        "long": framed(parts_4(datagram_4(16, 65_000), 1480)),
        "padded": [raw(Ether(**MACS) / part) + bytes(6) for part in parts_4(datagram_4(17))],
        "cut": [frame[:60] for frame in framed(parts_4(datagram_4(18), 48))],
        "whole": framed([datagram_4(19)]),
    }


@cache
def hostile() -> dict[str, list[bytes]]:
    """Frames of what is not put together."""
    tail = piece_4(8189, bytes(200), more=False, id_=104)
    return {
        "teardrop": framed([
            piece_4(0, bytes(40), more=True, id_=101), piece_4(3, bytes(4), more=False, id_=101),
        ]),
        "overlap": framed([
            piece_4(0, bytes(24), more=True, id_=102), piece_4(2, b"y" * 24, more=True, id_=102),
            piece_4(5, bytes(8), more=False, id_=102),
        ]),
        "rose": framed([
            piece_4(0, bytes(32), more=True, id_=103),
            piece_4(8100, bytes(32), more=False, id_=103),
        ]),
        "ping of death": framed([piece_4(0, bytes(32), more=True, id_=104), tail]),
        "two ends": framed([
            piece_4(4, bytes(8), more=False, id_=105), piece_4(8, bytes(8), more=False, id_=105),
            piece_4(0, bytes(32), more=True, id_=105),
        ]),
        "no whole word": framed([piece_4(0, bytes(31), more=True, id_=106)]),
        "nothing": framed([piece_4(0, b"", more=True, id_=107)]),
        "128 and one": framed([
            piece_4(at, bytes(8), more=at < 129, id_=108) for at in range(130)
        ]),
        "a first one with options": framed([
            IP(src="10.0.0.3", dst="10.0.0.4", id=109, flags="MF", proto=17, options=b"\1" * 40)
            / bytes(8),
            *(piece_4(1 + 1000 * at, bytes(8000), more=True, id_=109) for at in range(8)),
            piece_4(8001, bytes(1500), more=False, id_=109),
        ]),
        "nested headers": framed([
            IPv6(src="2001:db8::3", dst="2001:db8::4") / IPv6ExtHdrFragment(m=1, id=1)
            / IPv6ExtHdrFragment(offset=0, m=1, id=2, nh=17) / bytes(8),
            IPv6(src="2001:db8::3", dst="2001:db8::4") / IPv6ExtHdrFragment(offset=2, id=1, nh=17)
            / bytes(8),
        ]),
    }  # fmt: skip


def everything(seed: int, start_ns: int) -> list[Packet]:
    """All of them, mixed and at random times, some lost and some late."""
    random = Random(seed)
    flows = [list(frames) for frames in (honest() | hostile()).values()]
    found: list[Packet] = []
    now = start_ns
    while flows:
        at = random.randrange(len(flows))
        frame = flows[at].pop(0)
        flows = [frames for frames in flows if frames]
        now += random.choice([0, 1_000, 10**6, SECOND, 20 * SECOND if random.random() < 0.1 else 0])
        if random.random() < 0.98:
            back = random.choice([0, 0, 0, 10**6])
            found.append(Packet(now - back, frame, len(frame) + random.choice([0, 0, 4])))
    return found


def in_turn(start_ns: int) -> list[Packet]:
    """All of them one after the other, a tenth of a second apart."""
    frames = [frame for each in (honest() | hostile()).values() for frame in each]
    return [Packet(start_ns + at * SECOND // 10, frame) for at, frame in enumerate(frames)]


def cut_anywhere(random: Random, number: int) -> tuple[bytes, list[bytes]]:
    """What a datagram of UDP carries, and frames of it, whole or in pieces, some of them twice."""
    data = "".join(random.choices("abcdefgh", k=random.choice([0, 1, 40, 1000, 9000]))).encode()
    head: Any = IP(src="10.0.0.1", dst="10.0.0.2", id=number)
    if number % 2:
        head = IPv6(src="2001:db8::1", dst="2001:db8::2")
    packet = head / UDP(sport=number, dport=9) / data
    payload = raw(packet)[len(raw(packet)) - len(data) - 8 :]
    cuts = {8 * random.randrange(len(payload) // 8 + 1) for _ in range(random.randrange(20))}
    places = sorted({0, len(payload), *(cut for cut in cuts if cut < len(payload))})
    pieces = [
        _piece_of(packet, payload[begin:end], begin, more=end < len(payload))
        for begin, end in pairwise(places)
    ]
    pieces += random.choices(pieces, k=random.randrange(2)) if len(pieces) > 1 else []
    random.shuffle(pieces)
    return data, framed(pieces)


def _piece_of(packet: Any, data: bytes, begin: int, *, more: bool) -> Any:
    if packet.version == 4:
        head = IP(src=packet.src, dst=packet.dst, id=packet.id, frag=begin // 8, proto=17)
        head.flags = "MF" if more else 0
        return head / data
    cut = {"offset": begin // 8, "m": int(more), "id": packet[UDP].sport, "nh": 17}
    return IPv6(src=packet.src, dst=packet.dst) / IPv6ExtHdrFragment(**cut) / data
