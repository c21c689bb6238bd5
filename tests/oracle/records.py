# SPDX-License-Identifier: Apache-2.0
"""What a capture reader yields: records, and how the reading ended."""

from __future__ import annotations

from dataclasses import dataclass, field

MAX_CAPTURED_BYTES = 262_144
"""A captured length above this is damage (GSQL, "What is a packet of a protocol")."""


class RefusedError(Exception):
    """The file is not one that can be answered at all (exit code 2)."""


class DamagedError(Exception):
    """The file is broken from here on: what came before is answered (exit code 1)."""


@dataclass(frozen=True)
class Interface:
    """One interface of a capture: a pcap file has one, a pcapng section any number."""

    link_type: int
    snap_length: int = 0
    ticks_per_second: int = 1_000_000
    offset_seconds: int = 0
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Record:
    """One packet as it stands in the file.

    `timestamp_ns` is None where the nanoseconds since the epoch leave 63 bits. `file_offset` is
    where the record begins in the uncompressed bytes, `index` counts the file's packets from 0,
    `section` and `interface_id` are those of a pcapng file (0 in pcap).
    """

    index: int
    file_offset: int
    timestamp_ns: int | None
    captured_length: int
    length: int
    link_type: int
    interface_id: int
    data: bytes
    section: int = 0
    interface_name: str | None = None


@dataclass
class Capture:
    """A whole file: its records and how its reading ended.

    `damage` says what is broken after the last record, `refusal` why nothing can be answered;
    at most one of them is set.
    """

    format: str = ""
    records: list[Record] = field(default_factory=list)
    interfaces: list[Interface] = field(default_factory=list)
    damage: str | None = None
    refusal: str | None = None

    @property
    def exit_code(self) -> int:
        """The exit code that a run over this file alone ends with."""
        if self.refusal is not None:
            return 2
        return 0 if self.damage is None else 1


def usable_timestamp(nanoseconds: int) -> int | None:
    """The timestamp, or None where it leaves the 63 bits that a timestamp has."""
    return nanoseconds if 0 <= nanoseconds < 1 << 63 else None
