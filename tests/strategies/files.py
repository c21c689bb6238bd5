# SPDX-License-Identifier: Apache-2.0
"""Capture files written by hand: pcap and pcapng, either byte order."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

MICROSECONDS, NANOSECONDS, MODIFIED = 0xA1B2C3D4, 0xA1B23C4D, 0xA1B2CD34
EN10MB = 1


@dataclass(frozen=True)
class Packet:
    """What goes into a file: when, what was captured, and how long it was on the wire."""

    timestamp_ns: int
    data: bytes
    length: int | None = None
    interface_id: int = 0

    @property
    def wire_length(self) -> int:
        """The original length; that of the data where it is not given."""
        return len(self.data) if self.length is None else self.length


def pcap(
    packets: Iterable[Packet],
    *,
    order: str = "<",
    magic: int = MICROSECONDS,
    link_type: int = EN10MB,
    version: tuple[int, int] = (2, 4),
    snap_length: int = 262_144,
) -> bytes:
    """A pcap file."""
    header = struct.pack(order + "IHHiIII", magic, *version, 0, 0, snap_length, link_type)
    return header + b"".join(pcap_record(packet, order, magic) for packet in packets)


def pcap_record(packet: Packet, order: str = "<", magic: int = MICROSECONDS) -> bytes:
    """One record of a pcap file."""
    seconds, nanoseconds = divmod(packet.timestamp_ns, 1_000_000_000)
    fraction = nanoseconds if magic == NANOSECONDS else nanoseconds // 1_000
    header = struct.pack(order + "IIII", seconds, fraction, len(packet.data), packet.wire_length)
    extra = bytes(8) if magic == MODIFIED else b""
    return header + extra + packet.data


def block(kind: int, body: bytes, order: str = "<") -> bytes:
    """A pcapng block around a body, which is padded to whole words."""
    body += bytes(-len(body) % 4)
    size = struct.pack(order + "I", len(body) + 12)
    return struct.pack(order + "I", kind) + size + body + size


def option(code: int, value: bytes, order: str = "<") -> bytes:
    """A pcapng option, padded."""
    return struct.pack(order + "HH", code, len(value)) + value + bytes(-len(value) % 4)


def section_header(order: str = "<", version: tuple[int, int] = (1, 0)) -> bytes:
    """A section header of unknown section length."""
    return block(0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, *version, -1), order)


def interface(
    order: str = "<", link_type: int = EN10MB, snap_length: int = 0, options: bytes = b""
) -> bytes:
    """An interface description."""
    return block(1, struct.pack(order + "HHI", link_type, 0, snap_length) + options, order)


def enhanced_packet(packet: Packet, ticks: int, order: str = "<", options: bytes = b"") -> bytes:
    """An enhanced packet block; `ticks` is its time in the interface's own unit."""
    head = struct.pack(
        order + "IIIII",
        packet.interface_id,
        ticks >> 32,
        ticks & 0xFFFF_FFFF,
        len(packet.data),
        packet.wire_length,
    )
    padding = bytes(-len(packet.data) % 4)
    return block(6, head + packet.data + padding + options, order)


def obsolete_packet(packet: Packet, ticks: int, order: str = "<") -> bytes:
    """The packet block of the first drafts."""
    head = struct.pack(
        order + "HHIIII",
        packet.interface_id,
        0,
        ticks >> 32,
        ticks & 0xFFFF_FFFF,
        len(packet.data),
        packet.wire_length,
    )
    return block(2, head + packet.data, order)


def simple_packet(packet: Packet, order: str = "<") -> bytes:
    """A simple packet block: no interface and no time."""
    return block(3, struct.pack(order + "I", packet.wire_length) + packet.data, order)


def pcapng(packets: Sequence[Packet], *, order: str = "<", link_type: int = EN10MB) -> bytes:
    """A section with as many interfaces as the packets name, in nanoseconds."""
    interfaces = max((packet.interface_id for packet in packets), default=0) + 1
    resolution = option(9, b"\x09", order) + option(0, b"", order)
    head = section_header(order)
    head += interface(order, link_type, options=resolution) * interfaces
    blocks = (enhanced_packet(packet, packet.timestamp_ns, order) for packet in packets)
    return head + b"".join(blocks)
