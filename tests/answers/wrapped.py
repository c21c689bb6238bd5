# SPDX-License-Identifier: Apache-2.0
"""The same packets of IP on links of many types: a pcapng with an interface for each."""

from __future__ import annotations

import struct
from collections.abc import Callable
from random import Random

from tests.answers.mixture import START_NS
from tests.strategies import frames
from tests.strategies.files import Packet, enhanced_packet, interface, option, section_header

Wrap = Callable[[int, bytes], bytes]
"""From an EtherType and a packet of IP to a frame of the link."""
MACS = bytes.fromhex("0a0000000001 0b0000000002")


def _nlpid(ethertype: int) -> bytes:
    return b"\x03" + {0x0800: b"\xcc", 0x86DD: b"\x8e"}[ethertype]


def _family(ethertype: int, of_ipv6: int) -> int:
    return 2 if ethertype == frames.ETHERTYPE_IPV4 else of_ipv6


def _nflog(ethertype: int, packet: bytes) -> bytes:
    """Three attributes: the hook, the mark, the packet."""
    head = struct.pack("<BBH", _family(ethertype, 10), 0, 1)
    hook = struct.pack("<HHHH", 8, 1, ethertype, 0)
    mark = struct.pack("<HHB3x", 5, 2, 7)
    return head + hook + mark + struct.pack("<HH", 4 + len(packet), 9) + packet


def _pktap(ethertype: int, packet: bytes) -> bytes:
    ethernet = frames.ethernet(ethertype, packet)
    return struct.pack("<III", 108, 1, 1) + b"en0".ljust(96, b"\0") + ethernet


WRAPS: dict[int, Wrap] = {
    1: frames.ethernet,
    6: lambda kind, packet: b"\x10\x40" + MACS + frames.snap(kind, packet),
    10: lambda kind, packet: b"\x54" + MACS + frames.snap(kind, packet),
    104: lambda kind, packet: struct.pack(">HH", 0x0F00, kind) + packet,
    107: lambda kind, packet: b"\x18\x41" + _nlpid(kind) + packet,
    117: lambda kind, packet: bytes((61, _family(kind, 24))).ljust(64, b"\0") + packet,
    123: lambda kind, packet: b"\x02\0\0\x64" + frames.snap(kind, packet),
    192: lambda kind, packet: struct.pack("<HHI", 0, 8, 1) + frames.ethernet(kind, packet),
    239: _nflog,
    242: lambda kind, packet: bytes(40) + struct.pack(">HH", kind, 0) + packet,
    258: _pktap,
}
"""By LINKTYPE_ number."""


def wrapped(seed: int, packets: int) -> bytes:
    """So many packets on each link, one behind the other."""
    chance, nanoseconds = Random(seed), option(9, b"\x09") + option(0, b"")
    data = section_header()
    data += b"".join(interface(link_type=number, options=nanoseconds) for number in WRAPS)
    for at in range(packets):
        kind, packet = _packet(chance)
        for place, wrap in enumerate(WRAPS.values()):
            moment = START_NS + at * 10**9 + place * 10**6
            data += enhanced_packet(Packet(moment, wrap(kind, packet), None, place), moment)
    return data


def _packet(chance: Random) -> tuple[int, bytes]:
    host, payload = chance.randrange(1, 6), bytes(chance.randrange(60))
    datagram = frames.udp(1000 + host, 53, payload)
    if chance.random() < 0.6:
        return 0x0800, frames.ipv4(0x0A000000 + host, 0x0A000064, frames.UDP, datagram)
    source, server = (bytes.fromhex("20010db8").ljust(15, b"\0") + bytes((n,)) for n in (host, 99))
    return 0x86DD, frames.ipv6(source, server, frames.UDP, datagram)
