# SPDX-License-Identifier: Apache-2.0
"""The readers against files written by hand, form by form."""

from __future__ import annotations

import gzip
import random
import struct
from collections.abc import Callable

import pyarrow
import pytest
from hypothesis import given, settings

from tests.oracle.capture import read_bytes
from tests.oracle.query import decode
from tests.strategies import files
from tests.strategies.captures import CaptureFile, capture_files, damaged_files
from tests.strategies.files import Packet

FRAME = bytes(range(60))
MOMENT = 1_700_000_000_123_456_789
PACKETS = (Packet(MOMENT, FRAME), Packet(MOMENT - 5_000_000_000, FRAME[:20], length=1500))


@pytest.mark.parametrize("order", "<>")
@pytest.mark.parametrize(
    ("magic", "unit_ns"), [(0xA1B2C3D4, 1000), (0xA1B23C4D, 1), (0xA1B2CD34, 1000)]
)
def test_pcap_of_every_magic_and_order(order: str, magic: int, unit_ns: int) -> None:
    capture = read_bytes(files.pcap(PACKETS, order=order, magic=magic))
    assert [r.timestamp_ns for r in capture.records] == [
        p.timestamp_ns // unit_ns * unit_ns for p in PACKETS
    ]
    assert [(r.captured_length, r.length) for r in capture.records] == [(60, 60), (20, 1500)]
    assert [r.data for r in capture.records] == [FRAME, FRAME[:20]]
    header_bytes = 24 if magic == 0xA1B2CD34 else 16
    assert [r.file_offset for r in capture.records] == [24, 24 + header_bytes + 60]
    assert capture.exit_code == 0


def test_a_fraction_above_a_second_carries() -> None:
    data = bytearray(files.pcap([Packet(5_000_000_000, FRAME)]))
    struct.pack_into("<I", data, 28, 3_000_001)
    assert read_bytes(bytes(data)).records[0].timestamp_ns == 8_000_001_000


def zstd(data: bytes) -> bytes:
    return pyarrow.compress(data, "zstd", asbytes=True)


NOISE = tuple(Packet(MOMENT, random.Random(at).randbytes(1000)) for at in range(1000))


@pytest.mark.parametrize("pack", [gzip.compress, zstd])
def test_compressed_files_and_their_damage(pack: Callable[[bytes], bytes]) -> None:
    whole = pack(files.pcap(NOISE))
    assert len(read_bytes(whole).records) == 1000
    cut = read_bytes(whole[: len(whole) // 2])
    assert cut.exit_code == 1
    assert 0 < len(cut.records) < 1000


def test_gzip_members_follow_each_other() -> None:
    data = files.pcap(PACKETS)
    capture = read_bytes(gzip.compress(data[:50]) + gzip.compress(data[50:]))
    assert len(capture.records) == 2
    assert capture.exit_code == 0


@pytest.mark.parametrize("order", "<>")
@pytest.mark.parametrize(
    ("resolution", "ticks", "nanoseconds"),
    [
        (6, 1_700_000_000_123_456, 1_700_000_000_123_456_000),
        (9, MOMENT, MOMENT),
        (12, 1_500_000_000_999, 1_500_000_000),
        (0, 7, 7_000_000_000),
        (0x80 | 10, 3 << 9, 1_500_000_000),
        (0x80, 12, 12_000_000_000),
    ],
)
def test_pcapng_resolutions(order: str, resolution: int, ticks: int, nanoseconds: int) -> None:
    options = files.option(9, bytes([resolution]), order) + files.option(0, b"", order)
    head = files.section_header(order) + files.interface(order, options=options)
    for write in (files.enhanced_packet, files.obsolete_packet):
        record = read_bytes(head + write(PACKETS[0], ticks, order)).records[0]
        assert (record.timestamp_ns, record.data) == (nanoseconds, FRAME)


def test_pcapng_offset_may_leave_the_timestamp_without_use() -> None:
    for seconds, expected in ((100, 101_000_000_000), (-1, 0), (-2, None), (1 << 62, None)):
        options = files.option(14, struct.pack("<q", seconds))
        data = files.section_header() + files.interface(options=options)
        data += files.enhanced_packet(PACKETS[0], 1_000_000)
        assert read_bytes(data).records[0].timestamp_ns == expected


def test_pcapng_simple_packets_have_time_0_and_interface_0() -> None:
    data = files.section_header() + files.interface(snap_length=32)
    data += files.simple_packet(Packet(0, FRAME[:32], length=1500))
    record = read_bytes(data).records[0]
    assert (record.timestamp_ns, record.captured_length, record.length) == (0, 32, 1500)


def test_pcapng_sections_have_their_own_interfaces_and_order() -> None:
    data = files.pcapng(PACKETS, order="<") + files.pcapng(PACKETS, order=">", link_type=101)
    records = read_bytes(data).records
    assert [(r.section, r.link_type) for r in records] == [(0, 1), (0, 1), (1, 101), (1, 101)]
    assert [r.index for r in records] == [0, 1, 2, 3]


def test_pcapng_custom_and_unknown_blocks_are_no_packets() -> None:
    data = files.pcapng(PACKETS) + files.block(0xBAD, bytes(8)) + files.block(0x4000BAD, b"")
    assert len(read_bytes(data).records) == 2


def test_pcapng_packets_of_unsupported_links_are_undecodable() -> None:
    head = files.section_header() + files.interface() + files.interface(link_type=147)
    good = files.enhanced_packet(PACKETS[0], 1)
    other = files.enhanced_packet(Packet(0, FRAME, interface_id=1), 2)
    mixed = decode(head + good + other)
    assert (mixed.accounting.read, mixed.accounting.undecodable) == (2, 1)
    assert mixed.capture.exit_code == 0
    assert decode(head + other).capture.exit_code == 2
    assert decode(head).capture.exit_code == 0


REFUSED = {
    "nothing": b"",
    "unknown magic": b"\x01\x02\x03\x04" * 10,
    "a few bytes": b"\xd4\xc3",
    "header cut": files.pcap([])[:20],
    "pcap 1.0": files.pcap([], version=(1, 0)),
    "pcap 543.0": files.pcap([], version=(543, 0)),
    "unknown link": files.pcap([], link_type=147),
    "reserved bits": files.pcap([], link_type=0x0030_0001),
    "pcapng 2.0": files.section_header(version=(2, 0)),
    "pcapng 1.1": files.section_header(version=(1, 1)),
    "section cut": files.section_header()[:20],
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    assert read_bytes(REFUSED[name]).exit_code == 2


ANSWERED = {
    "empty pcap": files.pcap([]),
    "pcap 2.0": files.pcap([], version=(2, 0)),
    "frame check length": files.pcap([], link_type=0x2400_0001),
    "empty pcapng": files.section_header(),
    "pcapng 1.2": files.section_header(version=(1, 2)),
}


@pytest.mark.parametrize("name", ANSWERED)
def test_valid_without_packets(name: str) -> None:
    capture = read_bytes(ANSWERED[name])
    assert (capture.exit_code, capture.records) == (0, [])


WHOLE = files.pcap(PACKETS)
NG = files.pcapng(PACKETS)
DAMAGED = {
    "packet cut": WHOLE[:-1],
    "header cut": WHOLE[: 24 + 76 + 5],
    "captured length": WHOLE + struct.pack("<IIII", 1, 1, 262_145, 262_145) + bytes(262_145),
    "block cut": NG[:-1],
    "lengths differ": NG + struct.pack("<III", 5, 12, 16),
    "not a whole word": NG + struct.pack("<II", 5, 14) + bytes(6),
    "block of 8 bytes": NG + struct.pack("<II", 5, 8) + bytes(8),
    "interface unknown": NG + files.enhanced_packet(Packet(0, FRAME, interface_id=9), 0),
    "later version": NG + files.section_header(version=(2, 0)),
    "later magic": NG + files.block(0x0A0D0D0A, bytes(16)),
    "option too long": NG + files.interface(options=struct.pack("<HH", 2, 100)),
    "resolution of two bytes": NG + files.interface(options=files.option(9, b"\x06\x06")),
    "simple packet too long": NG + files.simple_packet(Packet(0, FRAME, length=90)),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_what_came_before_the_damage_is_kept(name: str) -> None:
    capture = read_bytes(DAMAGED[name])
    assert capture.exit_code == 1
    assert len(capture.records) == (1 if name in ("packet cut", "header cut", "block cut") else 2)


@settings(max_examples=100)
@given(capture_files())
def test_what_was_written_is_read(file: CaptureFile) -> None:
    capture = read_bytes(file.data)
    unit_ns = 1000 if capture.format.startswith("pcap-us") else 1
    assert capture.exit_code == 0
    assert len(capture.records) == len(file.packets)
    for record, packet in zip(capture.records, file.packets, strict=True):
        assert record.data == packet.data
        assert record.length == packet.wire_length
        assert record.timestamp_ns == packet.timestamp_ns // unit_ns * unit_ns
        assert record.interface_id == packet.interface_id


@settings(max_examples=200)
@given(damaged_files())
def test_no_bytes_break_the_oracle(data: bytes) -> None:
    decoded = decode(data)
    counts = decoded.accounting
    assert counts.read == counts.undecodable + counts.late + counts.decoded
