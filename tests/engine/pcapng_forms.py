# SPDX-License-Identifier: Apache-2.0
"""The same packets as pcapng files with all that may stand between them, or be wrong with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tests.strategies.files import (
    EN10MB,
    Packet,
    block,
    enhanced_packet,
    interface,
    obsolete_packet,
    option,
    pcapng,
    section_header,
    simple_packet,
)

RAW, VSOCK = 101, 271


def pcapng_forms(packets: Sequence[Packet]) -> dict[str, bytes]:
    """Files by what is special about them."""
    whole = pcapng(packets)
    half = len(packets) // 2
    blocks = _blocks(packets)
    return {
        "of two sections": pcapng(packets[:half]) + pcapng(packets[half:], order=">"),
        "of a section of another link": pcapng(packets[:half])
        + pcapng(packets[half:], link_type=RAW),
        "of two interfaces": pcapng([replace(p, interface_id=at % 2) for at, p in _each(packets)]),
        "of a later interface": _head() + _spread(blocks, interface()),
        "of other blocks": _head() + _spread(blocks, block(5, bytes(12)), block(4, b"name")),
        "of other packets": _head() + _spread(blocks, *_others(packets)),
        "in microseconds": section_header()
        + interface()
        + b"".join(enhanced_packet(p, p.timestamp_ns // 1000) for p in packets),
        "in 2^-20 s, an hour later": section_header()
        + interface(options=option(9, b"\x94") + option(14, (3600).to_bytes(8, "little")))
        + b"".join(enhanced_packet(p, (p.timestamp_ns << 20) // 10**9) for p in packets),
        "beyond time": _head() + _spread(blocks, _beyond_time(packets)),
        "of a link that nobody supports": pcapng(packets[:half], link_type=VSOCK)
        + pcapng(packets[half:]),
        "of nothing that is supported": pcapng(packets, link_type=VSOCK),
        "of names": _head()
        + _spread(blocks, interface(options=option(2, b"eth9")), _of_one(packets)),
        "of long blocks": _head() + _spread(blocks, block(5, bytes(9_000)), *_long(packets)),
        "cut in a block of others": whole + block(5, bytes(30_000))[:-5_000],
        "cut pcapng": whole[:-3],
        "pcapng cut in data": whole[:-40] if packets else whole,
        "of another trailer": _head() + _spread(blocks, _with_trailer(packets)),
        "of an interface that is none": _head() + _spread(blocks, _of_none(packets)),
        "of more data than room": _head() + _spread(blocks, _of_more(packets)),
    }


def _each(packets: Sequence[Packet]) -> list[tuple[int, Packet]]:
    return list(enumerate(packets))


def _head() -> bytes:
    return section_header() + interface("<", EN10MB, options=option(9, b"\x09"))


def _blocks(packets: Sequence[Packet]) -> list[bytes]:
    return [enhanced_packet(packet, packet.timestamp_ns) for packet in packets]


def _spread(blocks: Sequence[bytes], *others: bytes) -> bytes:
    """Each of the others once, at two thirds, and three of them earlier."""
    spread = list(blocks)
    for part in (2 / 3, 1 / 2, 1 / 3):
        for other in others:
            spread.insert(int(len(blocks) * part), other)
    return b"".join(spread)


def _others(packets: Sequence[Packet]) -> list[bytes]:
    return [
        f(p)
        for p in packets[:1]
        for f in (lambda p: obsolete_packet(p, p.timestamp_ns), simple_packet)
    ]


def _of_one(packets: Sequence[Packet]) -> bytes:
    """Of the second interface."""
    second = [replace(packet, interface_id=1) for packet in packets[:1]]
    return b"".join(enhanced_packet(packet, packet.timestamp_ns // 1000) for packet in second)


def _long(packets: Sequence[Packet]) -> list[bytes]:
    """Blocks longer than any packet may be."""
    many = b"".join(option(1, bytes(60_000)) for _ in range(6))
    return [enhanced_packet(p, p.timestamp_ns, options=many) for p in packets[:1]]


def _beyond_time(packets: Sequence[Packet]) -> bytes:
    return b"".join(enhanced_packet(packet, (1 << 64) - 1) for packet in packets[:1])


def _with_trailer(packets: Sequence[Packet]) -> bytes:
    return b"".join(found[:-4] + b"\x40\0\0\0" for found in _blocks(packets[:1]))


def _of_none(packets: Sequence[Packet]) -> bytes:
    return b"".join(_blocks([replace(packet, interface_id=7) for packet in packets[:1]]))


def _of_more(packets: Sequence[Packet]) -> bytes:
    return b"".join(found[:20] + b"\xff\xff\0\0" + found[24:] for found in _blocks(packets[:1]))
