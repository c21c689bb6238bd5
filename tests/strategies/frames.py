# SPDX-License-Identifier: Apache-2.0
"""Packets as bytes, from the transport header outwards. Checksums are left zero: nobody looks."""

from __future__ import annotations

import struct

MAC_ADDRESSES = b"\x02\0\0\0\0\x01" + b"\x02\0\0\0\0\x02"
ETHERTYPE_IPV4, ETHERTYPE_IPV6, ETHERTYPE_ARP = 0x0800, 0x86DD, 0x0806
ICMP, TCP, UDP, FRAGMENT, ICMPV6 = 1, 6, 17, 44, 58


def ethernet(ethertype: int, payload: bytes, tags: tuple[tuple[int, int], ...] = ()) -> bytes:
    """An Ethernet frame; `tags` are (tag protocol, VLAN) from the outermost in."""
    header = MAC_ADDRESSES
    for protocol, vlan in tags:
        header += struct.pack("!HH", protocol, vlan)
    return header + struct.pack("!H", ethertype) + payload


def ipv4(
    source: int,
    destination: int,
    protocol: int,
    payload: bytes,
    *,
    options: bytes = b"",
    offset: int = 0,
    more: bool = False,
    total_length: int | None = None,
    identification: int = 0,
) -> bytes:
    """An IPv4 packet; `options` fill whole words, `offset` counts eight bytes."""
    header_bytes = 20 + len(options)
    total = header_bytes + len(payload) if total_length is None else total_length
    header = struct.pack(
        "!BBHHHBBHII",
        0x40 | header_bytes // 4,
        0,
        total,
        identification,
        more << 13 | offset,
        64,
        protocol,
        0,
        source,
        destination,
    )
    return header + options + payload


def ipv6(
    source: bytes,
    destination: bytes,
    protocol: int,
    payload: bytes,
    *,
    payload_length: int | None = None,
) -> bytes:
    """An IPv6 packet; extension headers are part of the payload."""
    length = len(payload) if payload_length is None else payload_length
    return struct.pack("!IHBB", 6 << 28, length, protocol, 64) + source + destination + payload


def ipv6_options(following: int, options: bytes = b"\x01\x04\0\0\0\0") -> bytes:
    """A hop-by-hop, routing or destination options header; `options` fill it to eight bytes."""
    return bytes([following, (len(options) + 2) // 8 - 1]) + options


def ipv6_fragment(following: int, offset: int, more: bool) -> bytes:
    """A fragment header; `offset` counts eight bytes."""
    return struct.pack("!BBHI", following, 0, offset << 3 | more, 7)


def tcp(
    source: int,
    destination: int,
    payload: bytes = b"",
    flags: int = 0x18,
    *,
    sequence: int = 1,
) -> bytes:
    """A TCP segment without options."""
    word = 5 << 12 | flags
    return struct.pack("!HHIIHHHH", source, destination, sequence, 2, word, 512, 0, 0) + payload


def udp(source: int, destination: int, payload: bytes = b"", length: int | None = None) -> bytes:
    """A UDP datagram."""
    size = 8 + len(payload) if length is None else length
    return struct.pack("!HHHH", source, destination, size, 0) + payload


def icmp(kind: int, code: int) -> bytes:
    """An ICMP message of eight bytes."""
    return struct.pack("!BBHI", kind, code, 0, 0)


def mpls(labels: tuple[int, ...], payload: bytes) -> bytes:
    """A label stack, outermost first, and what it carries."""
    last = len(labels) - 1
    entries = (label << 12 | (at == last) << 8 | 64 for at, label in enumerate(labels))
    return b"".join(struct.pack("!I", entry) for entry in entries) + payload


def pppoe(protocol: int, payload: bytes) -> bytes:
    """A PPPoE session packet."""
    return struct.pack("!BBHHH", 0x11, 0, 1, len(payload) + 2, protocol) + payload


def snap(ethertype: int, payload: bytes) -> bytes:
    """LLC with SNAP, as 802.3 and 802.11 carry it."""
    return b"\xaa\xaa\x03\0\0\0" + struct.pack("!H", ethertype) + payload
