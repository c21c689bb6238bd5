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


@dataclass(frozen=True)
class Shown:
    """The driver's lines of one file, taken apart."""

    records: list[list[str]]
    interfaces: list[tuple[int, int, bool, bytes]]
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
    interfaces = [line.split(" ", 4)[1:] for line in lines if line.startswith("interface ")]
    return Shown(
        records=[line.split(" ") for line in lines if line[0].isdigit()],
        interfaces=[
            (int(t), int(s), link != "0", bytes.fromhex(name)) for t, s, link, name in interfaces
        ],
        stats=next((line.split(" ")[1:] for line in lines if line.startswith("stats ")), []),
        was_opened=word == "end",
        status=int(status),
        message=message,
    )


def check(shown: Shown, data: bytes, name: str) -> None:
    """Every record, every interface, and how it ends are what the oracle says."""
    read = read_bytes(data)
    assert shown.status == STATUS_OF_EXIT_CODE[read.exit_code], (name, shown.message, read)
    if not shown.was_opened or not shown.interfaces:
        return
    assert shown.interfaces == [
        _interface(interface, was)
        for interface, was in zip(read.interfaces, shown.interfaces, strict=True)
    ], name
    assert shown.records == [
        _record(record, words, shown)
        for record, words in zip(read.records, shown.records, strict=True)
    ], name
    check_sections(read.records, shown, name)


def _name(name: str | None, shown: bytes) -> bytes:
    """What fits, whole characters, up to a zero byte; any, if it is not UTF-8 in the file."""
    if name is None or "\ufffd" in name:
        return shown if name else b""
    return name.encode()[:NAME_BYTES].decode(errors="ignore").split("\0")[0].encode()


def _interface(
    interface: Interface, shown: tuple[int, int, bool, bytes]
) -> tuple[int, int, bool, bytes]:
    supported = interface.link_type in SUPPORTED
    name = _name(interface.name, shown[3])
    return interface.link_type, interface.snap_length, supported, name


def _record(record: Record, words: list[str], shown: Shown) -> list[str]:
    """The driver's words for a record; without a usable time the engine may show any."""
    link_type, _, supported, name = shown.interfaces[int(words[5])]
    assert (link_type, name) == (record.link_type, _name(record.interface_name, name))
    flags = NO_TIME if record.timestamp_ns is None else 0
    flags |= 0 if supported else UNSUPPORTED
    flags |= TRUNCATED if record.captured_length < record.length else 0
    time = words[2] if record.timestamp_ns is None else record.timestamp_ns
    numbers = (record.index, record.file_offset, time, record.captured_length, record.length)
    return [*map(str, numbers), words[5], words[6], str(flags), f"{crc32(record.data):08x}"]


def check_sections(records: list[Record], shown: Shown, name: str) -> None:
    """Interfaces are numbered on from section to section."""
    first: dict[int, int] = {}
    for record, words in zip(records, shown.records, strict=True):
        index = int(words[5]) - record.interface_id
        assert first.setdefault(record.section, index) == index, name
    assert list(first.values()) == sorted(first.values()), name
