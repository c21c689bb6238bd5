# SPDX-License-Identifier: Apache-2.0
"""Makes the bytes of capture files for tests, valid and not."""

from __future__ import annotations

import struct

FRAME = bytes(range(60))


def pcap(
    *records: bytes,
    order: str = "<",
    magic: int = 0xA1B2C3D4,
    version: tuple[int, int] = (2, 4),
    linktype: int = 1,
    snap: int = 65535,
) -> bytes:
    """A classic capture file."""
    header = struct.pack(order + "IHHIIII", magic, *version, 0, 0, snap, linktype)
    return header + b"".join(records)


def record(
    seconds: int = 1,
    fraction: int = 0,
    data: bytes = FRAME,
    length: int | None = None,
    caplen: int | None = None,
    order: str = "<",
    extra: bytes = b"",
) -> bytes:
    """A record of a classic capture file; `extra` is what the modified variant adds."""
    length = len(data) if length is None else length
    caplen = len(data) if caplen is None else caplen
    return struct.pack(order + "IIII", seconds, fraction, caplen, length) + extra + data


def block(
    kind: int, body: bytes, order: str = "<", total: int | None = None, trailer: int | None = None
) -> bytes:
    """A pcapng block; its two lengths can be lied about."""
    body += bytes(-len(body) % 4)
    real = len(body) + 12
    total = real if total is None else total
    trailer = total if trailer is None else trailer
    return struct.pack(order + "II", kind, total) + body + struct.pack(order + "I", trailer)


def section(order: str = "<", version: tuple[int, int] = (1, 0), magic: int = 0x1A2B3C4D) -> bytes:
    """A section header of unknown length."""
    return block(0x0A0D0D0A, struct.pack(order + "IHHq", magic, *version, -1), order)


def option(code: int, value: bytes, order: str = "<") -> bytes:
    """A pcapng option, padded."""
    return struct.pack(order + "HH", code, len(value)) + value + bytes(-len(value) % 4)


def interface(linktype: int = 1, snap: int = 0, options: bytes = b"", order: str = "<") -> bytes:
    """An interface description."""
    return block(1, struct.pack(order + "HHI", linktype, 0, snap) + options, order)


def enhanced(
    ticks: int = 0,
    data: bytes = FRAME,
    index: int = 0,
    length: int | None = None,
    caplen: int | None = None,
    order: str = "<",
    options: bytes = b"",
) -> bytes:
    """An enhanced packet."""
    length = len(data) if length is None else length
    caplen = len(data) if caplen is None else caplen
    head = struct.pack(order + "IIIII", index, ticks >> 32, ticks & 0xFFFFFFFF, caplen, length)
    return block(6, head + data + bytes(-len(data) % 4) + options, order)


def obsolete(ticks: int = 0, data: bytes = FRAME, index: int = 0, order: str = "<") -> bytes:
    """The obsolete packet block, with a drop count that must not be read as the interface."""
    times = (ticks >> 32, ticks & 0xFFFFFFFF, len(data), len(data))
    return block(2, struct.pack(order + "HHIIII", index, 77, *times) + data, order)


def simple(data: bytes = FRAME, length: int | None = None, order: str = "<") -> bytes:
    """A simple packet."""
    length = len(data) if length is None else length
    return block(3, struct.pack(order + "I", length) + data, order)
