# SPDX-License-Identifier: Apache-2.0
"""Reading Ethernet packets out of pcap and pcapng files, and writing pcap.

Independent of the engine on purpose, and as small as joining captures needs: a file that is damaged
gives the packets before the damage, packets of other link types are passed over.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

ETHERNET = 1
FILE_HEADER_BYTES, RECORD_HEADER_BYTES = 24, 16
MAX_CAPTURED_BYTES = 262_144
PCAP_MAGICS = {
    b"\xd4\xc3\xb2\xa1": ("<", 1_000),
    b"\xa1\xb2\xc3\xd4": (">", 1_000),
    b"\x4d\x3c\xb2\xa1": ("<", 1),
    b"\xa1\xb2\x3c\x4d": (">", 1),
}
PCAPNG_MAGIC = b"\x0a\x0d\x0d\x0a"
SECTION, INTERFACE, ENHANCED_PACKET = 0x0A0D0D0A, 1, 6
OPTION_RESOLUTION = 9


@dataclass(frozen=True, slots=True)
class Packet:
    """One captured frame; `length_bytes` is what was on the wire."""

    timestamp_ns: int
    length_bytes: int
    captured: bytes


@dataclass(frozen=True)
class Interface:
    """What a pcapng interface block says about its packets' link type and clock."""

    link_type: int
    ticks_per_second: int


def read_ethernet(path: Path) -> Iterator[Packet]:
    """The Ethernet packets of a pcap or pcapng file; nothing for a file that is neither."""
    content = path.read_bytes()
    if content[:4] in PCAP_MAGICS and len(content) >= 24:
        yield from _read_pcap(content)
    elif content[:4] == PCAPNG_MAGIC:
        yield from _read_pcapng(content)


def _read_pcap(content: bytes) -> Iterator[Packet]:
    order, fraction_ns = PCAP_MAGICS[content[:4]]
    link_type = struct.unpack_from(order + "I", content, 20)[0] & 0xFFFF
    position = 24
    while link_type == ETHERNET and position + 16 <= len(content):
        header = struct.unpack_from(order + "IIII", content, position)
        seconds, fraction, captured_bytes, length_bytes = header
        position += 16
        if captured_bytes > min(len(content) - position, MAX_CAPTURED_BYTES):
            return
        captured = content[position : position + captured_bytes]
        yield Packet(seconds * 10**9 + fraction * fraction_ns, length_bytes, captured)
        position += captured_bytes


def _read_pcapng(content: bytes) -> Iterator[Packet]:
    interfaces: list[Interface] = []
    for order, kind, body in _blocks(content):
        if kind == SECTION:
            interfaces = []
        elif kind == INTERFACE and len(body) >= 8:
            interfaces.append(_interface(order, body))
        elif kind == ENHANCED_PACKET and len(body) >= 20:
            yield from _enhanced_packet(order, body, interfaces)


def _blocks(content: bytes) -> Iterator[tuple[str, int, bytes]]:
    order, position = "<", 0
    while position + 12 <= len(content):
        if content[position : position + 4] == PCAPNG_MAGIC:
            order = "<" if content[position + 8 : position + 12] == b"\x4d\x3c\x2b\x1a" else ">"
        kind, size = struct.unpack_from(order + "II", content, position)
        if size < 12 or size % 4 or position + size > len(content):
            return
        yield order, kind, content[position + 8 : position + size - 4]
        position += size


def _interface(order: str, body: bytes) -> Interface:
    ticks_per_second, position = 1_000_000, 8
    while position + 4 <= len(body):
        code, size = struct.unpack_from(order + "HH", body, position)
        if code == OPTION_RESOLUTION and position + 5 <= len(body):
            exponent = body[position + 4]
            ticks_per_second = 2 ** (exponent & 127) if exponent & 128 else 10**exponent
        position += 4 + (size + 3) // 4 * 4
    return Interface(struct.unpack_from(order + "H", body)[0], ticks_per_second)


def _enhanced_packet(order: str, body: bytes, interfaces: list[Interface]) -> Iterator[Packet]:
    number, high, low, captured_bytes, length_bytes = struct.unpack_from(order + "IIIII", body)
    if number >= len(interfaces) or captured_bytes > min(len(body) - 20, MAX_CAPTURED_BYTES):
        return
    interface = interfaces[number]
    if interface.link_type == ETHERNET:
        timestamp_ns = ((high << 32) | low) * 10**9 // interface.ticks_per_second
        yield Packet(timestamp_ns, length_bytes, body[20 : 20 + captured_bytes])


def write_pcap_header(file: BinaryIO) -> None:
    """A little-endian microsecond pcap header for Ethernet."""
    file.write(struct.pack("<IHHIIII", 0xA1B2C3D4, 2, 4, 0, 0, MAX_CAPTURED_BYTES, ETHERNET))


def write_pcap_packet(file: BinaryIO, timestamp_ns: int, packet: Packet) -> None:
    """One record; the time is cut to whole microseconds."""
    seconds, rest_ns = divmod(timestamp_ns, 10**9)
    size = len(packet.captured)
    file.write(struct.pack("<IIII", seconds, rest_ns // 1000, size, packet.length_bytes))
    file.write(packet.captured)
