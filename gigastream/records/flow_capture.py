# SPDX-License-Identifier: Apache-2.0
"""Datagrams of UDP in a capture: pcap and pcapng, over Ethernet, IP or the "any" device.

A few lines of Python where the engine has a decoder, since a capture of exports is small, and is
read by the thread that feeds the engine. Packets of others are passed over, fragments are told of.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from gigastream.records.flows.values import address
from gigastream.records.record_input import RecordInput

Datagram = tuple[bytes, bytes, int]
"""Its bytes, where it came from (16 bytes), when (ns since 1970)."""
Found = tuple[int, Datagram | str]
"""The number of a packet, and its datagram or why it has none."""
_Packet = tuple[int, Datagram | str | None]
_MAX_PACKET_BYTES = 262_144
_MAX_INTERFACES = 65_536
_SECTION, _INTERFACE, _SIMPLE, _ENHANCED = 0x0A0D0D0A, 1, 3, 6
_IP_AT = {1: None, 12: 0, 14: 0, 101: 0, 228: 0, 229: 0, 0: 4, 108: 4, 113: 16, 276: 20}
"""Where IP begins, by link type; None: behind Ethernet's tags."""
_TAGS = (b"\x81\0", b"\x88\xa8", b"\x91\0")
_UDP = 17
_NS = 10**9
PCAP = {
    b"\xd4\xc3\xb2\xa1": ("<", 1_000),
    b"\xa1\xb2\xc3\xd4": (">", 1_000),
    b"\x4d\x3c\xb2\xa1": ("<", 1),
    b"\xa1\xb2\x3c\x4d": (">", 1),
}
"""Byte order and ns of a fraction's unit, by the first bytes."""
PCAPNG = b"\x0a\x0d\x0d\x0a"


def datagrams(source: RecordInput) -> Iterator[Found]:
    """Yield the datagrams of a capture, and reasons where it or a packet of it cannot be read."""
    first = source.peek(4)
    if first == PCAPNG:
        found = _pcapng(source)
    elif first in PCAP:
        found = _pcap(source, *PCAP[first])
    else:
        found = iter([(1, "it is no capture of pcap or pcapng")] if first else [])
    yield from ((number, datagram) for number, datagram in found if datagram is not None)


def _pcap(source: RecordInput, order: str, unit_ns: int) -> Iterator[_Packet]:
    header = source.read(24)
    if len(header) < 24:
        yield 1, "the capture's header is cut off"
        return
    link_type = struct.unpack_from(order + "I", header, 20)[0] & 0xFFFF
    record = struct.Struct(order + "IIII")
    number = 0
    while head := source.read(16):
        number += 1
        if len(head) < 16:
            yield number, "the capture ends within a record"
            return
        seconds, fraction, size, _ = record.unpack(head)
        if size > _MAX_PACKET_BYTES:
            yield number, "the capture is damaged: a record claims more than 262,144 bytes"
            return
        frame = source.read(size)
        if len(frame) < size:
            yield number, "the capture ends within a record"
            return
        yield number, _datagram(frame, link_type, seconds * _NS + fraction * unit_ns)


def _pcapng(source: RecordInput) -> Iterator[_Packet]:
    order, number = "<", 0
    interfaces: list[tuple[int, int, int]] = []
    while head := source.read(8):
        if len(head) == 8 and head[:4] == PCAPNG:
            order, interfaces = ("<" if source.peek(4) == b"\x4d\x3c\x2b\x1a" else ">"), []
        kind, length = struct.unpack(order + "II", head) if len(head) == 8 else (0, 0)
        if not 12 <= length <= _MAX_PACKET_BYTES + 4096:
            yield number + 1, "the capture is damaged: a block has no sensible length"
            return
        body = source.read(length - 8)
        if len(body) < length - 8:
            yield number + 1, "the capture ends within a block"
            return
        if kind == _INTERFACE and len(interfaces) == _MAX_INTERFACES:
            yield number + 1, "the capture is damaged: it has more than 65,536 interfaces"
            return
        if kind == _INTERFACE and length >= 20:
            interfaces.append(_interface(body[:-4], order))
        elif kind in (_ENHANCED, _SIMPLE):
            number += 1
            yield number, _enhanced(body[:-4], order, interfaces, is_simple=kind == _SIMPLE)


def _interface(body: bytes, order: str) -> tuple[int, int, int]:
    """Link type, units a second, seconds to add."""
    link_type, units, offset_s, at = struct.unpack_from(order + "H", body)[0], 10**6, 0, 8
    while at + 4 <= len(body):
        code, length = struct.unpack_from(order + "HH", body, at)
        value = body[at + 4 : at + 4 + length]
        if code == 0:
            break
        if code == 9 and len(value) == 1:
            units = 1 << (value[0] & 0x7F) if value[0] & 0x80 else 10 ** min(value[0], 18)
        elif code == 14 and len(value) == 8:
            (offset_s,) = struct.unpack(order + "q", value)
        at += 4 + length + -length % 4
    return link_type, units, offset_s


def _enhanced(
    body: bytes, order: str, interfaces: list[tuple[int, int, int]], *, is_simple: bool
) -> Datagram | str | None:
    if is_simple:
        return "a simple packet has no time"
    if len(body) < 20:
        return "a packet is cut off"
    number, high, low, size, _ = struct.unpack_from(order + "5I", body)
    if number >= len(interfaces) or size > len(body) - 20:
        return "a packet is damaged"
    link_type, units, offset_s = interfaces[number]
    timestamp_ns = (high << 32 | low) * _NS // units + offset_s * _NS
    return _datagram(body[20 : 20 + size], link_type, timestamp_ns)


def _datagram(frame: bytes, link_type: int, timestamp_ns: int) -> Datagram | str | None:
    at = _IP_AT.get(link_type, -1)
    if at is None:
        at = 14
        while frame[at - 2 : at] in _TAGS:
            at += 4
    if at < 0:
        return f"exports are not read from link type {link_type}"
    return _of_ip(frame[at:], timestamp_ns)


def _of_ip(packet: bytes, timestamp_ns: int) -> Datagram | str | None:
    version = packet[0] >> 4 if packet else 0
    if version == 4 and len(packet) >= 20:
        header, protocol, source = (packet[0] & 15) * 4, packet[9], packet[12:16]
        if protocol == _UDP and struct.unpack_from(">H", packet, 6)[0] & 0x3FFF:
            return "a fragment of a datagram"
    elif version == 6 and len(packet) >= 40:
        header, protocol, source = 40, packet[6], packet[8:24]
    else:
        return None
    if protocol != _UDP:
        return None
    if len(packet) < header + 8:
        return "a datagram is cut off"
    (size,) = struct.unpack_from(">H", packet, header + 4)
    exporter = address(source)
    assert exporter is not None
    return packet[header + 8 : header + max(size, 8)], exporter, timestamp_ns
