# SPDX-License-Identifier: Apache-2.0
"""What the driver shows of a file, held against what the oracle reads in the same bytes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from zlib import crc32

from tests.oracle.capture import read_bytes
from tests.oracle.links import SUPPORTED
from tests.oracle.records import Interface, Record

NO_TIME, UNSUPPORTED, TRUNCATED = 1, 2, 4
STATUS_OF_EXIT_CODE = {0: 1, 1: 3, 2: 4}  # GS_END, GS_DAMAGED, GS_ERROR
NAME_BYTES = 63
SECTION_MAGIC = b"\x0a\x0d\x0d\x0a"


Shape = tuple[int, int, bool, bytes]
"""Of an interface: link type, snap length, whether that is supported, name."""


@dataclass(frozen=True)
class Shown:
    """The driver's lines of one file, taken apart."""

    records: list[list[str]]
    sections: list[int]
    """Of each record."""
    interfaces: list[list[Shape]]
    """Of each section, as far as they were seen."""
    stats: list[str]
    was_opened: bool
    status: int
    message: str


def split_files(lines: Iterable[str]) -> list[Shown]:
    """The driver's lines, file by file."""
    files, part = [], []
    for line in lines:
        part.append(line)
        if line.startswith(("end ", "refused ")):
            files.append(_shown(part))
            part = []
    assert not part, "the driver broke off"
    return files


def _shown(lines: list[str]) -> Shown:
    word, status, message = lines[-1].split(" ", 2)
    records, sections, interfaces = [], [], [list[Shape]()]
    for line in lines:
        if line == "section":
            interfaces.append([])
        elif line.startswith("interface "):
            link_type, snap, link, name = line.split(" ", 4)[1:]
            interfaces[-1].append((int(link_type), int(snap), link != "0", bytes.fromhex(name)))
        elif line[0].isdigit():
            records.append(line.split(" "))
            sections.append(len(interfaces) - 1)
    return Shown(
        records=records,
        sections=sections,
        interfaces=interfaces,
        stats=next((line.split(" ")[1:] for line in lines if line.startswith("stats ")), []),
        was_opened=word == "end",
        status=int(status),
        message=message,
    )


def check(shown: Shown, data: bytes, name: str) -> None:
    """Every record, every interface, and how it ends are what the oracle says."""
    read = read_bytes(data)
    assert shown.status == STATUS_OF_EXIT_CODE[read.exit_code], (name, shown.message, read)
    if not shown.was_opened or not any(shown.interfaces):
        return
    if data.count(SECTION_MAGIC) < 2:  # those of a section that is over are forgotten
        assert shown.interfaces[0] == [
            _interface(interface, was)
            for interface, was in zip(read.interfaces, shown.interfaces[0], strict=True)
        ], name
    assert shown.records == [
        _record(record, words, shown.interfaces[section])
        for record, words, section in zip(read.records, shown.records, shown.sections, strict=True)
    ], name
    check_sections(read.records, shown, name)


def _name(name: str | None, shown: bytes) -> bytes:
    """What fits, whole characters, up to a zero byte; any, if it is not UTF-8 in the file."""
    if name is None or "\ufffd" in name:
        return shown if name else b""
    return name.encode()[:NAME_BYTES].decode(errors="ignore").split("\0")[0].encode()


def _interface(interface: Interface, shown: Shape) -> Shape:
    supported = interface.link_type in SUPPORTED
    name = _name(interface.name, shown[3])
    return interface.link_type, interface.snap_length, supported, name


def _record(record: Record, words: list[str], interfaces: list[Shape]) -> list[str]:
    """The driver's words for a record; without a usable time the engine may show any."""
    link_type, _, supported, name = interfaces[record.interface_id]
    assert (link_type, name) == (record.link_type, _name(record.interface_name, name))
    flags = NO_TIME if record.timestamp_ns is None else 0
    flags |= 0 if supported else UNSUPPORTED
    flags |= TRUNCATED if record.captured_length < record.length else 0
    time = words[2] if record.timestamp_ns is None else record.timestamp_ns
    numbers = (record.index, record.file_offset, time, record.captured_length, record.length)
    shown = (record.interface_id, words[6], flags, f"{crc32(record.data):08x}")
    return [*map(str, numbers), *map(str, shown)]


def check_sections(records: list[Record], shown: Shown, name: str) -> None:
    """Records are of one section where they are in the file."""
    pairs = {(r.section, number) for r, number in zip(records, shown.sections, strict=True)}
    assert len({a for a, _ in pairs}) == len({b for _, b in pairs}) == len(pairs), name
    assert [b for _, b in sorted(pairs)] == sorted(b for _, b in pairs), name
