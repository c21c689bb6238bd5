# SPDX-License-Identifier: Apache-2.0
"""pcapng: sections of either byte order, interfaces of any link type and clock resolution."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from tests.oracle.records import (
    MAX_CAPTURED_BYTES,
    Capture,
    DamagedError,
    Interface,
    Record,
    RefusedError,
    usable_timestamp,
)

SECTION_HEADER = 0x0A0D0D0A
INTERFACE_DESCRIPTION = 1
OBSOLETE_PACKET = 2
SIMPLE_PACKET = 3
ENHANCED_PACKET = 6

BYTE_ORDER_MAGIC = 0x1A2B3C4D
VERSIONS = {(1, 0), (1, 2)}
MIN_BLOCK_BYTES = 12

END_OF_OPTIONS = 0
OPTION_IF_NAME = 2
OPTION_IF_TSRESOL = 9
OPTION_IF_TSOFFSET = 14


@dataclass(frozen=True)
class Block:
    """A block's type, where it begins in the file, and the bytes between its two lengths."""

    type: int
    file_offset: int
    order: str
    body: bytes

    def unpack(self, layout: str, at: int = 0) -> tuple[int, ...]:
        """Fields at `at` in the body; raises DamagedError where the body is too short."""
        layout = self.order + layout
        if at + struct.calcsize(layout) > len(self.body):
            raise DamagedError(f"the block at byte {self.file_offset} is too short")
        return struct.unpack_from(layout, self.body, at)


@dataclass
class Section:
    """The section being read: interfaces are numbered from 0 in each."""

    number: int
    interfaces: list[Interface] = field(default_factory=list)


def read_pcapng(data: bytes, capture: Capture) -> None:
    """Append the file's records to `capture`.

    Raises RefusedError if the first section header cannot be answered, DamagedError where a later
    block is broken.
    """
    capture.format = "pcapng"
    section = Section(-1)
    for block in _blocks(data):
        if block.type == SECTION_HEADER:
            section = _begin_section(block, section.number + 1)
        elif block.type == INTERFACE_DESCRIPTION:
            section.interfaces.append(_interface(block))
            capture.interfaces.append(section.interfaces[-1])
        elif block.type in READERS:
            record = READERS[block.type](block, section)
            capture.records.append(
                replace(record, index=len(capture.records), section=section.number)
            )


def _blocks(data: bytes) -> Iterator[Block]:
    at, order = 0, "<"
    while at < len(data):
        first = at == 0
        try:
            order, size = _block_frame(data, at, order)
        except DamagedError as damage:
            raise RefusedError(str(damage)) if first else damage from None
        (kind,) = struct.unpack_from(order + "I", data, at)
        yield Block(kind, at, order, data[at + 8 : at + size - 4])
        at += size


def _block_frame(data: bytes, at: int, order: str) -> tuple[str, int]:
    """The byte order and the length of the block at `at`, both lengths checked."""
    if len(data) - at < MIN_BLOCK_BYTES:
        raise DamagedError(f"a block is cut short at byte {at}")
    if struct.unpack_from("<I", data, at)[0] == SECTION_HEADER:
        order = _section_order(data, at)
    (size,) = struct.unpack_from(order + "I", data, at + 4)
    if size < MIN_BLOCK_BYTES or size % 4 != 0:
        raise DamagedError(f"a block of {size} bytes at byte {at}")
    if at + size > len(data):
        raise DamagedError(f"a block is cut short at byte {at}")
    if struct.unpack_from(order + "I", data, at + size - 4)[0] != size:
        raise DamagedError(f"the two lengths of the block at byte {at} differ")
    return order, size


def _section_order(data: bytes, at: int) -> str:
    for order in "<>":
        if struct.unpack_from(order + "I", data, at + 8)[0] == BYTE_ORDER_MAGIC:
            return order
    raise DamagedError(f"the section at byte {at} has no byte-order magic")


def _begin_section(block: Block, number: int) -> Section:
    error = RefusedError if number == 0 else DamagedError
    try:
        _, major, minor, _ = block.unpack("IHHq")
    except DamagedError as damage:
        raise error(str(damage)) from None
    if (major, minor) not in VERSIONS:
        raise error(f"pcapng version {major}.{minor}")
    return Section(number)


def _interface(block: Block) -> Interface:
    link_type, _, snap_length = block.unpack("HHI")
    interface = Interface(link_type, snap_length)
    for code, value in _options(block, 8):
        if code == OPTION_IF_NAME:
            name = value.rstrip(b"\0").decode("utf-8", "replace")
            interface = replace(interface, name=name)
        elif code == OPTION_IF_TSRESOL and _has(value, 1, block):
            interface = replace(interface, ticks_per_second=_ticks_per_second(value[0]))
        elif code == OPTION_IF_TSOFFSET and _has(value, 8, block):
            (seconds,) = struct.unpack(block.order + "q", value)
            interface = replace(interface, offset_seconds=seconds)
    return interface


def _has(value: bytes, size: int, block: Block) -> bool:
    if len(value) != size:
        raise DamagedError(f"an option of the block at byte {block.file_offset} has a wrong length")
    return True


def _ticks_per_second(resolution: int) -> int:
    """The top bit says that the exponent is of two, else of ten."""
    return 2 ** (resolution & 0x7F) if resolution & 0x80 else int(10**resolution)


def _options(block: Block, at: int) -> Iterator[tuple[int, bytes]]:
    while at < len(block.body):
        code, size = block.unpack("HH", at)
        if code == END_OF_OPTIONS:
            return
        if at + 4 + size > len(block.body):
            raise DamagedError(f"an option of the block at byte {block.file_offset} is too long")
        yield code, block.body[at + 4 : at + 4 + size]
        at += 4 + (size + 3) // 4 * 4


def _enhanced_packet(block: Block, section: Section) -> Record:
    interface_id, high, low, captured, length = block.unpack("IIIII")
    return _timed_packet(block, section, interface_id, high << 32 | low, captured, length)


def _obsolete_packet(block: Block, section: Section) -> Record:
    interface_id, _, high, low, captured, length = block.unpack("HHIIII")
    return _timed_packet(block, section, interface_id, high << 32 | low, captured, length)


def _simple_packet(block: Block, section: Section) -> Record:
    """Interface 0, no time (0 stands for it), and as much as the snap length lets through."""
    (length,) = block.unpack("I")
    interface = _interface_of(block, section, 0)
    captured = min(length, interface.snap_length or length)
    return _record(block, interface, 0, 0, captured, length, 4)


def _timed_packet(
    block: Block, section: Section, interface_id: int, ticks: int, captured: int, length: int
) -> Record:
    interface = _interface_of(block, section, interface_id)
    # What is finer than a nanosecond is cut.
    nanoseconds = ticks * 1_000_000_000 // interface.ticks_per_second
    nanoseconds += interface.offset_seconds * 1_000_000_000
    return _record(block, interface, interface_id, nanoseconds, captured, length, 20)


def _interface_of(block: Block, section: Section, interface_id: int) -> Interface:
    if interface_id >= len(section.interfaces):
        raise DamagedError(f"the packet at byte {block.file_offset} is of no known interface")
    return section.interfaces[interface_id]


def _record(
    block: Block,
    interface: Interface,
    interface_id: int,
    nanoseconds: int,
    captured: int,
    length: int,
    data_at: int,
) -> Record:
    if captured > MAX_CAPTURED_BYTES or data_at + captured > len(block.body):
        raise DamagedError(f"a packet of {captured} bytes at byte {block.file_offset}")
    return Record(
        index=0,
        file_offset=block.file_offset,
        timestamp_ns=usable_timestamp(nanoseconds),
        captured_length=captured,
        length=length,
        link_type=interface.link_type,
        interface_id=interface_id,
        data=block.body[data_at : data_at + captured],
        interface_name=interface.name,
    )


READERS = {
    ENHANCED_PACKET: _enhanced_packet,
    OBSOLETE_PACKET: _obsolete_packet,
    SIMPLE_PACKET: _simple_packet,
}
"""Custom blocks and unknown ones are not in the table: they are no packets."""
