# SPDX-License-Identifier: Apache-2.0
"""Builds driver.c with sanitizers, and prints batches made of Python values with it."""

from __future__ import annotations

import ipaddress
import struct
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SANITIZE = ("-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
FLAGS = ("-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Wpedantic", "-Werror")

Value = bool | int | float | bytes | str | None

_NAMES = ["bool", "ushort", "uint", "int", "ullong", "llong", "float", "string"]
_NAMES += ["IP", "IPV6", "INET", "timestamp"]
TYPES = {"mac": 5, **{name: number for number, name in enumerate(_NAMES, start=1)}}
OPAQUE = 13
FORMATS = dict(zip(_NAMES[1:7], ("<H", "<I", "<i", "<Q", "<q", "<d"), strict=True))
FORMATS |= {"timestamp": "<q", "mac": "<Q"}


@dataclass(frozen=True)
class Column:
    """Values of one type; None is NULL. Strings are bytes or str, addresses text."""

    name: str
    type: str
    values: Sequence[Value]


@dataclass(frozen=True)
class Printer:
    """The driver, compiled."""

    program: Path

    def text(self, format_: str, columns: Sequence[Column], query: str = "") -> str:
        """The rows as `csv` or `json`; what is printed is always UTF-8."""
        return self._run([format_, query], columns).decode()

    def seconds(self, format_: str, columns: Sequence[Column], repetitions: int) -> float:
        """How long making the text so many times takes."""
        return float(self._run([format_, "", str(repetitions)], columns))

    def cells(self, type_name: str, values: Sequence[Value]) -> list[str]:
        """The csv cells of one column."""
        return self.text("csv", [Column("x", type_name, values)]).split("\n")[:-1]

    def _run(self, arguments: list[str], columns: Sequence[Column]) -> bytes:
        command = [str(self.program), *arguments]
        return subprocess.run(command, input=pack(columns), capture_output=True, check=True).stdout


def build(folder: Path, *flags: str) -> Printer:
    """Compile the driver and csrc/output."""
    sources = [
        *sorted((ROOT / "csrc" / "output").glob("*.c")),
        Path(__file__).with_name("driver.c"),
    ]
    includes = ["-I", str(ROOT / "csrc"), "-I", str(ROOT / "csrc" / "abi")]
    program = folder / "driver"
    command = ["cc", *FLAGS, *flags, *includes, *map(str, sources), "-o", str(program), "-lm"]
    subprocess.run(command, check=True)
    return Printer(program)


def pack(columns: Sequence[Column]) -> bytes:
    """What driver.c reads."""
    head = struct.pack("<II", len(columns), len(columns[0].values))
    return head + b"".join(map(_packed_column, columns))


def _packed_column(column: Column) -> bytes:
    subtype = b"mac\0" if column.type == "mac" else b"\0"
    name = column.name.encode() + b"\0"
    return struct.pack("<II", *_type_of(column)) + b"".join(
        struct.pack("<I", len(part)) + part
        for part in (name, subtype, *_buffers(column), _validity(column))
    )


def _type_of(column: Column) -> tuple[int, int]:
    """Its number and, of an opaque one, its size."""
    size = column.type.removeprefix("fstring")
    return (OPAQUE, int(size)) if size != column.type else (TYPES[column.type], 0)


def _buffers(column: Column) -> tuple[bytes, bytes]:
    """Values and offsets, in Arrow's layout."""
    if column.type == "bool":
        return _bits(column.values), b""
    if column.type != "string":
        return b"".join(_packed_value(column.type, value) for value in column.values), b""
    offsets, joined = [0], b""
    for value in column.values:
        joined += _string_bytes(value)
        offsets.append(len(joined))
    return joined, struct.pack(f"<{len(offsets)}i", *offsets)


def _string_bytes(value: Value) -> bytes:
    if isinstance(value, bytes):
        return value
    return b"" if value is None else str(value).encode()


def _packed_value(type_name: str, value: Value) -> bytes:
    if type_name in FORMATS:
        return struct.pack(FORMATS[type_name], 0 if value is None else value)
    if type_name.startswith("fstring"):
        size = int(type_name.removeprefix("fstring"))
        return value if isinstance(value, bytes) else bytes(size)
    address = ipaddress.ip_address(str(value or "0.0.0.0"))
    if type_name == "IP":
        return address.packed[::-1]
    return bytes(10) + b"\xff\xff" + address.packed if address.version == 4 else address.packed


def _validity(column: Column) -> bytes:
    if None not in column.values:
        return b""
    return _bits([value is not None for value in column.values])


def _bits(values: Sequence[Value]) -> bytes:
    number = sum(1 << i for i, value in enumerate(values) if value)
    return number.to_bytes((len(values) + 7) // 8, "little")
