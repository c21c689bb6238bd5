# SPDX-License-Identifier: Apache-2.0
"""The classic capture file: either byte order, micro- and nanoseconds, and the modified form."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from tests.oracle.records import (
    MAX_CAPTURED_BYTES,
    Capture,
    DamagedError,
    Interface,
    Record,
    RefusedError,
    usable_timestamp,
)

FILE_HEADER_BYTES = 24

RESERVED_LINK_BITS = 0x03FF_0000
"""Bits of the link type word that must be zero; above them stands the frame check length."""

FORMS = {
    0xA1B2C3D4: ("pcap-us", 1_000, 16),
    0xA1B23C4D: ("pcap-ns", 1, 16),
    0xA1B2CD34: ("pcap-modified", 1_000, 24),
}
"""magic: (name, nanoseconds in a unit of the fraction, bytes of a record's header).

The modified form is that of an old patch to libpcap (Alexey Kuznetzov's): the usual sixteen bytes,
then interface index, protocol, packet type and padding.
"""


def byte_order(data: bytes) -> str | None:
    """The struct prefix of the file's byte order, or None if this is no pcap file."""
    for order in "<>":
        if len(data) >= 4 and struct.unpack(order + "I", data[:4])[0] in FORMS:
            return order
    return None


def read_pcap(data: bytes, capture: Capture) -> None:
    """Append the file's records to `capture`.

    Raises RefusedError for a header that cannot be answered, DamagedError where the records
    break off.
    """
    order = byte_order(data) or "<"
    if len(data) < FILE_HEADER_BYTES:
        raise RefusedError("the file header is cut short")
    magic, major, minor, _, _, snap, link = struct.unpack(order + "IHHiIII", data[:24])
    form, unit_ns, header_bytes = FORMS[magic]
    capture.format = f"{form}-{'le' if order == '<' else 'be'}"
    if major != 2:
        raise RefusedError(f"pcap version {major}.{minor}")
    if link & RESERVED_LINK_BITS:
        raise RefusedError(f"reserved bits of the link type are set: {link:#x}")
    capture.interfaces.append(Interface(link & 0xFFFF, snap))
    for record in _records(data, order, unit_ns, header_bytes, link & 0xFFFF):
        capture.records.append(record)


def _records(
    data: bytes, order: str, unit_ns: int, header_bytes: int, link_type: int
) -> Iterator[Record]:
    header = struct.Struct(order + "IIII")
    at, index = FILE_HEADER_BYTES, 0
    while at < len(data):
        if len(data) - at < header_bytes:
            raise DamagedError(f"a record header is cut short at byte {at}")
        seconds, fraction, captured, length = header.unpack_from(data, at)
        if captured > MAX_CAPTURED_BYTES:
            raise DamagedError(f"a record of {captured} bytes at byte {at}")
        start, end = at + header_bytes, at + header_bytes + captured
        if end > len(data):
            raise DamagedError(f"a packet is cut short at byte {at}")
        # A fraction of a second or more carries into the seconds.
        timestamp = usable_timestamp(seconds * 1_000_000_000 + fraction * unit_ns)
        yield Record(index, at, timestamp, captured, length, link_type, 0, data[start:end])
        at, index = end, index + 1
