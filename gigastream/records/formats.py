# SPDX-License-Identifier: Apache-2.0
"""The formats of records: adding one is a file and a line here."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from pathlib import PurePath

from gigastream.late_dataclass import dataclass
from gigastream.records.flow_capture import PCAP, PCAPNG
from gigastream.records.record_input import RecordInput

Row = tuple[int, Sequence[object] | str]
"""The number of a record or line, and its fields as they arrived or why it is none."""
Rows = Callable[[RecordInput, Sequence[str]], Iterator[Row]]
MAGIC_BYTES = 8
TCP_PREFIX, UDP_PREFIX = "tcp://", "udp://"
"""Of places that are ports."""


@dataclass(frozen=True, slots=True)
class RecordFormat:
    """How bytes become rows."""

    module: str
    """Its `rows` gives them; loaded when it is used."""
    unit: str
    """What is counted in messages."""
    suffixes: tuple[str, ...]
    magic: tuple[bytes, ...] = ()
    is_of_files: bool = False
    """It is read from its end, by a descriptor that can be sought."""


FORMATS: dict[str, RecordFormat] = {
    "csv": RecordFormat("gigastream.records.csv_rows", "line", (".csv",)),
    "json": RecordFormat(
        "gigastream.records.json_rows", "line", (".json", ".jsonl", ".ndjson"), (b"{",)
    ),
    "arrow": RecordFormat(
        "gigastream.records.arrow_rows",
        "record",
        (".arrow", ".arrows", ".ipc", ".feather"),
        (b"ARROW1\0\0", b"\xff\xff\xff\xff"),
    ),
    "parquet": RecordFormat(
        "gigastream.records.parquet_rows",
        "record",
        (".parquet",),
        (b"PAR1",),
        is_of_files=True,
    ),
    "flows": RecordFormat(
        "gigastream.records.flow_rows",
        "packet",
        (".pcap", ".pcapng", ".cap"),
        (*PCAP, PCAPNG),
    ),
}
COMPRESSED = (".gz", ".zst")


def format_of_name(path: str) -> str | None:
    """Return the format that a file's name says; None where it says none."""
    suffixes = [suffix.lower() for suffix in PurePath(path).suffixes]
    if suffixes and suffixes[-1] in COMPRESSED:
        suffixes.pop()
    last = suffixes[-1] if suffixes else ""
    return next((name for name, known in FORMATS.items() if last in known.suffixes), None)


def format_of_bytes(first: bytes) -> str:
    """Return the format that begins so; csv where no other does."""
    for name, known in FORMATS.items():
        if any(first.startswith(magic) for magic in known.magic):
            return name
    return "csv"


def rows_of(name: str) -> Callable[..., Iterator[Row]]:
    """Return what gives a format's rows, loaded now."""
    found: Callable[..., Iterator[Row]] = import_module(FORMATS[name].module).rows
    return found
