# SPDX-License-Identifier: Apache-2.0
"""Packets that are plain and packets that nearly are, each cut at every byte; and times that jump.

For tests in which two ways through the engine have to agree.
"""

from __future__ import annotations

from collections.abc import Iterator

from tests.strategies import frames as f
from tests.strategies.files import Packet

START_NS = 1_700_000_000 * 10**9
_V4, _V6 = f.ETHERTYPE_IPV4, f.ETHERTYPE_IPV6
_A, _B = bytes(15) + b"\x01", bytes(15) + b"\x02"
_TAGS = (0x8100, 0x88A8, 0x9100)


def odd_frames() -> list[bytes]:
    """Whole frames: families, transports, tags, options, fragments, extensions, lying lengths."""
    segment, datagram = f.tcp(1000, 443, b"abcd", 0x02), f.udp(53, 5353, b"xyz")
    packets = [(_V4, packet) for packet in _ipv4(segment, datagram)]
    packets += [(_V6, packet) for packet in _ipv6(segment, datagram)]
    packets += [(_V4, packets[-1][1]), (_V6, packets[0][1])]  # a version that is another
    whole = [f.ethernet(kind, packet) for kind, packet in packets]
    for kind, packet in (packets[0], packets[-3]):
        whole += [f.ethernet(kind, packet, ((tag, 7),)) for tag in _TAGS]
        whole.append(f.ethernet(kind, packet, ((0x8100, 7), (0x8100, 8))))
    whole.append(f.ethernet(f.ETHERTYPE_ARP, bytes(28)))
    whole.append(f.ethernet(0x8847, f.mpls((16, 17), packets[0][1])))
    whole.append(f.ethernet(0x8864, f.pppoe(0x21, packets[0][1])))
    whole.append(f.ethernet(60, f.snap(_V4, packets[0][1])))
    return [*whole, b"", b"\0"]


def _ipv4(segment: bytes, datagram: bytes) -> Iterator[bytes]:
    yield f.ipv4(1, 2, f.TCP, segment)
    yield f.ipv4(1, 3, f.UDP, datagram)
    yield f.ipv4(2, 1, f.ICMP, f.icmp(8, 0))
    yield f.ipv4(1, 2, 89, b"ospf")
    yield f.ipv4(1, 2, f.TCP, segment, options=b"\x01" * 8)
    yield f.ipv4(1, 2, f.UDP, datagram, offset=3)
    yield f.ipv4(1, 2, f.UDP, datagram, more=True)
    for lie in (0, 19, 20, 27, 28, 39, 1500):
        yield f.ipv4(1, 2, f.TCP, segment, total_length=lie)
        yield f.ipv4(1, 2, f.UDP, datagram, total_length=lie)
    yield f.ipv4(1, 2, f.UDP, f.udp(1, 2, b"abc", 7))
    yield f.ipv4(1, 2, f.TCP, segment[:12] + b"\x40" + segment[13:])
    yield f.ipv4(1, 2, f.TCP, segment[:12] + b"\xf0" + segment[13:])
    yield b"\x44" + f.ipv4(1, 2, f.TCP, segment)[1:]
    yield b"\x65" + f.ipv4(1, 2, f.TCP, segment)[1:]


def _ipv6(segment: bytes, datagram: bytes) -> Iterator[bytes]:
    jumbo = f.ipv6_options(f.UDP, b"\xc2\x04\0\0\0\x0b")
    yield f.ipv6(_A, _B, f.TCP, segment)
    yield f.ipv6(_A, _B, f.UDP, datagram)
    yield f.ipv6(_B, _A, f.ICMPV6, f.icmp(128, 0))
    yield f.ipv6(_A, _B, 59, b"")
    for extension in (0, 43, 60):
        yield f.ipv6(_A, _B, extension, f.ipv6_options(f.TCP) + segment)
    yield f.ipv6(_A, _B, f.FRAGMENT, f.ipv6_fragment(f.UDP, 0, True) + datagram)
    yield f.ipv6(_A, _B, f.FRAGMENT, f.ipv6_fragment(f.UDP, 2, False) + datagram)
    yield f.ipv6(_A, _B, 0, jumbo + datagram, payload_length=0)
    for lie in (0, 7, 8, 19, 20, 1500):
        yield f.ipv6(_A, _B, f.TCP, segment, payload_length=lie)
        yield f.ipv6(_A, _B, f.UDP, datagram, payload_length=lie)
    yield f.ipv6(_A, _B, f.TCP, segment)  # the last is plain


def cut_packets() -> list[Packet]:
    """Each frame cut at every byte, a millisecond apart, and of the length that it had."""
    cuts = [frame[:size] for frame in odd_frames() for size in range(len(frame) + 1)]
    lengths = [len(frame) for frame in odd_frames() for _ in range(len(frame) + 1)]
    return [
        Packet(START_NS + at * 10**6, cut, length)
        for at, (cut, length) in enumerate(zip(cuts, lengths, strict=True))
    ]


def jumping_packets() -> list[Packet]:
    """Many flows whose times go forwards in steps, back now and then, and once far ahead."""
    made = []
    for at in range(6000):
        step = -400 if at % 97 == 0 else 0
        far = 10**6 if at == 3000 else 0
        inner = f.udp(at % 7, 53) if at % 3 else f.tcp(at % 11, 80, flags=0x12)
        packet = f.ipv4(at % 501, at % 13, f.UDP if at % 3 else f.TCP, inner)
        when = START_NS + (at // 20 + step + far) * 10**9
        made.append(Packet(when, f.ethernet(_V4, packet), 60 + at % 1400))
    return made


def straggling_packets() -> list[Packet]:
    """One in 431 is 300 s back, which is one in each 32 KiB of a pcap file, far from their ends."""
    data = f.ethernet(_V4, f.ipv4(1, 2, f.UDP, f.udp(1, 53))).ljust(60, b"\0")
    backs = [300 if at % 431 == 330 else 0 for at in range(4000)]
    return [Packet(START_NS + at * 10**6 - back * 10**9, data, 60) for at, back in enumerate(backs)]
