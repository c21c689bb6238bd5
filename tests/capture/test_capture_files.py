# SPDX-License-Identifier: Apache-2.0
"""Records of capture files, in every way of reading them, against the oracle's reader."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.capture.capture_files import (
    FRAME,
    block,
    enhanced,
    interface,
    obsolete,
    option,
    pcap,
    record,
    section,
    simple,
)
from tests.capture.shown import check, split_files

Driver = Callable[..., list[str]]

TSRESOL, TSOFFSET, IF_NAME = 9, 14, 2


def eth(name: bytes = b"") -> bytes:
    return section() + interface(options=option(IF_NAME, name) if name else b"")


def tick_file(resolution: int, offset: int, ticks: int, order: str = "<") -> bytes:
    byte_order = "little" if order == "<" else "big"
    options = option(TSRESOL, bytes([resolution]), order)
    options += option(TSOFFSET, offset.to_bytes(8, byte_order, signed=True), order)
    head = section(order) + interface(options=options, order=order)
    return head + enhanced(ticks, order=order)


def big_endian_section() -> bytes:
    return section(">") + interface(order=">") + enhanced(5, order=">") + simple(order=">")


MODIFIED = {"magic": 0xA1B2CD34}
EXTRA = bytes(range(8))

FILES: dict[str, bytes] = {
    "pcap": pcap(record(), record(2, 3, b"abc"), record(4, 5, b"")),
    "pcap big endian": pcap(record(order=">"), record(7, 8, b"x", order=">"), order=">"),
    "pcap nanoseconds": pcap(record(1, 999_999_999), magic=0xA1B23C4D),
    "pcap nanoseconds big endian": pcap(record(1, 9, order=">"), order=">", magic=0xA1B23C4D),
    "pcap modified": pcap(record(extra=EXTRA), record(2, extra=EXTRA), **MODIFIED),
    "pcap modified big endian": pcap(record(order=">", extra=EXTRA), order=">", **MODIFIED),
    "pcap modified cut in the header": pcap(record(extra=EXTRA), record(data=b""), **MODIFIED),
    "pcap without packets": pcap(),
    "pcap 2.0": pcap(record(), version=(2, 0)),
    "pcap 1.4": pcap(record(), version=(1, 4)),
    "pcap 3.0": pcap(record(), version=(3, 0)),
    "fraction carries": pcap(record(1, 2**32 - 1), record(2**32 - 1, 2**32 - 1)),
    "fraction carries, ns": pcap(record(2**32 - 1, 2**32 - 1), magic=0xA1B23C4D),
    "len below caplen": pcap(record(length=3)),
    "snapped": pcap(record(length=1500)),
    "longest": pcap(record(data=bytes(262_144)), record()),
    "longest and one": pcap(record(), record(data=bytes(262_145)), record()),
    "absurd length": pcap(record(), record(caplen=0xFFFFFFFF)),
    "frame check sequence": pcap(record(), linktype=0x30000001),
    "frame check sequence, F bit": pcap(record(), linktype=0xD8000001),
    "link type 147": pcap(record(), linktype=147),
    "cut pcap header": pcap()[:23],
    "empty": b"",
    "three bytes": b"\xd4\xc3\xb2",
    "text": b"GET / HTTP/1.1\r\n",
    "pcapng": eth(b"eth0") + enhanced(1) + obsolete(2) + simple(),
    "pcapng without packets": eth(),
    "pcapng without interfaces": section(),
    "pcapng 1.2": section(version=(1, 2)) + interface() + enhanced(3),
    "pcapng 1.1": section(version=(1, 1)) + interface() + enhanced(3),
    "pcapng 2.0": section(version=(2, 0)),
    "later section 2.0": eth() + enhanced() + section(version=(2, 0)) + interface() + enhanced(),
    "bad byte order": section(magic=0x1A2B3C4E),
    "bad byte order later": eth() + enhanced() + section(magic=0x1A2B3C4E),
    "sections change order": eth(b"a") + enhanced(1) + big_endian_section() + eth() + enhanced(9),
    "interface of the section before": eth()
    + interface()
    + section()
    + interface()
    + enhanced(index=1),
    "no such interface": eth() + enhanced() + enhanced(index=1),
    "packet before its interface": section() + enhanced(),
    "simple before its interface": section() + simple(),
    "simple snapped": section() + interface(snap=20) + simple(FRAME[:20], 60) + simple(FRAME[:8]),
    "simple without room": eth() + simple(FRAME[:8], 60),
    "links differ": eth() + interface(147) + interface(113) + enhanced(index=1) + enhanced(index=2),
    "all links unsupported": section() + interface(147) + interface(9) + enhanced() + simple(),
    "unsupported, no packets": section() + interface(147),
    "custom blocks": eth() + block(0xBAD, b"12345678") + enhanced(1) + block(0x40000BAD, b""),
    "unknown block": eth() + block(0x12345678, bytes(70_000)) + enhanced(1),
    "unknown block cut": eth() + enhanced(1) + block(0x12345678, bytes(70_000))[:-5],
    "unknown block, other trailer": eth()
    + block(0x12345678, bytes(70_000), trailer=8)
    + enhanced(),
    "unknown block of almost 4 GiB": eth() + enhanced(1) + block(5, b"", total=0xFFFFFFFC),
    "length not a multiple of 4": eth() + enhanced() + block(5, b"12345678", total=18),
    "length 0": eth() + enhanced() + block(5, b"", total=0),
    "length 8": eth() + enhanced() + block(6, b"", total=8),
    "packet block too short": eth() + enhanced() + block(6, bytes(16)),
    "packet block over 16 MiB": eth() + enhanced() + block(6, bytes(20), total=(16 << 20) + 4),
    "trailing length differs": eth() + enhanced() + block(6, bytes(20), trailer=36),
    "captured beyond the block": eth() + enhanced() + enhanced(caplen=61),
    "captured beyond the bound": eth()
    + enhanced(data=bytes(262_144))
    + enhanced(data=bytes(262_145)),
    "packet with options": eth() + enhanced(options=option(1, b"comment") + option(0, b"")),
    "option beyond the block": section() + interface(options=b"\2\0\xff\0abcd"),
    "option after the end": section()
    + interface(options=option(0, b"") + b"\2\0\xff\0")
    + enhanced(),
    "tsresol too long": section() + interface(options=option(TSRESOL, b"\6\6")),
    "tsoffset too short": section() + interface(options=option(TSOFFSET, b"1234")),
    "long name": eth(b"n" * 61 + "äöü".encode()) + enhanced(),
    "name of 63": eth(b"n" * 63) + enhanced(),
    "many interfaces": section() + interface() * 300 + enhanced(index=299),
}
for resolution in (0, 3, 6, 9, 10, 12, 19, 28, 29, 127, 0x80, 0x81, 0x8A, 0xA0, 0xC0, 0xFF):
    for ticks in (0, 1, 10**9 + 7, 2**63 - 1, 2**64 - 1):
        FILES[f"ticks {ticks} of {resolution:#x}"] = tick_file(resolution, 0, ticks)
for offset in (-1, 1, -(2**63), 2**63 - 1, 9_223_372_036, 9_223_372_037):
    FILES[f"offset {offset}"] = tick_file(9, offset, 854_775_807)
    FILES[f"offset {offset} big endian"] = tick_file(6, offset, 854_775_808, ">")


@pytest.fixture(scope="session")
def file_paths(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("files")
    paths = {name: folder / f"{i}" for i, name in enumerate(FILES)}
    for name, path in paths.items():
        path.write_bytes(FILES[name])
    return paths


@pytest.mark.parametrize("burst", [1, 3, 256])
@pytest.mark.parametrize("how", ["mmap", "read"])
def test_files(driver: Driver, file_paths: dict[str, Path], how: str, burst: int) -> None:
    lines = driver("records", how, burst, -1, *file_paths.values())
    for (name, data), shown in zip(FILES.items(), split_files(lines), strict=True):
        check(shown, data, name)


@pytest.mark.parametrize("name", FILES)
def test_standard_input(driver: Driver, name: str) -> None:
    """A pipe gives the same records."""
    (shown,) = split_files(driver("records", "mmap", 256, -1, "-", stdin=FILES[name]))
    check(shown, FILES[name], name)


def every_cut(data: bytes) -> list[bytes]:
    return [data[:end] for end in range(len(data))]


CUT = {
    "pcap": pcap(record(data=b"abcdefg"), record(data=b"")),
    "pcapng": section() + interface() + enhanced(1, b"abc") + block(5, b"12345678") + simple(b"ab"),
}


@pytest.mark.parametrize("name", CUT)
@pytest.mark.parametrize("how", ["mmap", "read"])
def test_every_cut(driver: Driver, tmp_path: Path, how: str, name: str) -> None:
    check_all(driver, tmp_path, how, every_cut(CUT[name]))


@pytest.mark.parametrize("how", ["mmap", "read"])
@pytest.mark.parametrize("seed", range(4))
def test_flipped_bytes(driver: Driver, tmp_path: Path, how: str, seed: int) -> None:
    """Lies anywhere in a file: the same answer as the oracle, and nothing for the sanitizers."""
    rng = random.Random(seed)
    samples = [data for data in FILES.values() if 100 < len(data) < 2000]
    changed = []
    for _ in range(150):
        data = bytearray(rng.choice(samples))
        for _ in range(rng.choice((1, 1, 2, 5))):
            data[rng.randrange(len(data))] = rng.choice(
                (0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256))
            )
        changed.append(bytes(data))
    check_all(driver, tmp_path, how, changed)


def check_all(driver: Driver, folder: Path, how: str, contents: list[bytes]) -> None:
    paths = [folder / f"{i}" for i in range(len(contents))]
    for path, data in zip(paths, contents, strict=True):
        path.write_bytes(data)
    files = split_files(driver("records", how, 5, -1, *paths))
    for data, shown in zip(contents, files, strict=True):
        check(shown, data, data.hex())


MESSAGES = {
    "empty": "is empty (0 bytes)",
    "three bytes": "is too short to be pcap or pcapng (3 bytes)",
    "text": "is neither pcap nor pcapng (it begins with the bytes 47 45 54 20)",
    "pcap 1.4": "pcap version 1.4 is not supported, only 2.x is",
    "pcapng 1.1": "section at byte 0 is pcapng version 1.1, only 1.0 and 1.2 are supported",
    "bad byte order": "begins like pcapng but has no byte-order magic",
    "link type 147": "its link type 147 (USER0) is not supported",
    "all links unsupported": (
        "none of its 2 packets has a supported link type (the last one's is 147, USER0)"
    ),
    "longest and one": (
        "record 2 at byte 100 claims 262145 captured bytes, more than the 262144 allowed"
    ),
    "pcap modified cut in the header": (
        "ends in the middle of a record at byte 108, after 1 whole records"
    ),
    "trailing length differs": (
        "block at byte 140, after 1 records: the total lengths at its two ends differ"
    ),
    "no such interface": (
        "block at byte 140, after 1 records: its interface is not described in this section"
    ),
    "unknown block cut": "ends in the middle of a block at byte 70147, after 1 whole records",
}


@pytest.mark.parametrize("name", MESSAGES)
def test_messages(driver: Driver, file_paths: dict[str, Path], name: str) -> None:
    last = driver("records", "mmap", 256, -1, file_paths[name])[-1]
    assert last.split(" ", 2)[2] == MESSAGES[name]


COMPRESSED = {
    "gzip": b"\x1f\x8b\x08\x08",
    "zstd": b"\x28\xb5\x2f\xfd",
    "xz": b"\xfd7zXZ",
    "bzip2": b"BZh9",
    "lz4": b"\x04\x22\x4d\x18",
    "zip": b"PK\3\4",
}


@pytest.mark.parametrize("name", COMPRESSED)
def test_compressed_is_named(driver: Driver, tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_bytes(COMPRESSED[name] + bytes(30))
    (line,) = driver("records", "mmap", 256, -1, tmp_path / "file")
    assert line == f"refused 4 is {name} data, not pcap or pcapng: it must be decompressed first"


def test_what_is_no_file(driver: Driver, tmp_path: Path) -> None:
    lines = driver("records", "mmap", 256, -1, tmp_path, tmp_path / "missing")
    assert lines == [
        "refused 4 is a directory",
        "refused 4 cannot be opened: No such file or directory",
    ]


def test_interfaces_are_bounded(driver: Driver, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(section() + interface() * 65_536 + enhanced(index=65_535) + interface())
    lines = driver("records", "read", 256, -1, path)
    assert lines[0].split()[5] == "65535"
    assert lines[-1] == "end 3 describes more than 65,536 interfaces in one section"


@pytest.mark.parametrize("how", ["mmap", "read"])
def test_sections_are_not_bounded(driver: Driver, tmp_path: Path, how: str) -> None:
    """Interfaces of a section that is over are forgotten, however many there were."""
    path = tmp_path / "file"
    one = section() + interface() * 3 + enhanced(index=2)
    path.write_bytes(one * 70_000)
    lines = driver("records", how, 256, -1, path)
    assert lines[-1].startswith("end 1")
    records = [line.split() for line in lines if line[0].isdigit()]
    assert len(records) == 70_000
    assert {record[5] for record in records} == {"2"}


def test_statistics(driver: Driver, file_paths: dict[str, Path]) -> None:
    for how in ("mmap", "read"):
        lines = driver("records", how, 256, -1, file_paths["pcap"])
        size = len(FILES["pcap"])
        assert f"stats 3 {size} {size}" in lines
