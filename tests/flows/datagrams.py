# SPDX-License-Identifier: Apache-2.0
"""Datagrams of exporters, byte by byte, and what the decoder makes of some."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from ipaddress import ip_address
from typing import Any

from gigastream.records.flows.account import FlowAccount
from gigastream.records.flows.decoder import FlowDecoder

EXPORTER = bytes(10) + b"\xff\xff" + bytes([192, 0, 2, 1])
CAME_NS = 1_700_000_000 * 10**9
EXPORTED_S = 1_699_999_000
UPTIME_MS = 50_000
BEGUN_NS = EXPORTED_S * 10**9 - UPTIME_MS * 10**6


def decoded(*datagrams: bytes) -> tuple[list[dict[str, Any]], FlowAccount]:
    """The rows of some datagrams, without what is None, and the account."""
    decoder = FlowDecoder()
    for data in datagrams:
        decoder.take(data, EXPORTER, CAME_NS)
    rows = decoder.rows()
    names = rows.columns.keys()
    found = [
        {name: value for name, value in zip(names, row, strict=True) if value is not None}
        for row in zip(*rows.columns.values(), strict=True)
    ]
    assert len(found) == rows.count == decoder.account.records
    account = decoder.account
    assert account.datagrams == account.unknown + account.damaged + account.decoded
    return found, account


def bytes_of(address: str) -> bytes:
    """16 bytes, of IPv4 as ::ffff:a.b.c.d."""
    packed = ip_address(address).packed
    return packed if len(packed) == 16 else bytes(10) + b"\xff\xff" + packed


def v5(*records: bytes, sequence: int = 0, sampling: int = 0, count: int | None = None) -> bytes:
    counted = len(records) if count is None else count
    return struct.pack(
        ">HHIIIIBBH", 5, counted, UPTIME_MS, EXPORTED_S, 0, sequence, 1, 2, sampling
    ) + b"".join(records)


def v5_record(source: str, destination: str, packets: int, size: int) -> bytes:
    return struct.pack(
        ">4s4s4sHHIIIIHHBBBBHHBBH",
        *(ip_address(a).packed for a in (source, destination, "10.9.9.9")),
        *(3, 4, packets, size, 1_000, 2_000, 1234, 80, 0, 0x1B, 6, 0x20, 65_001, 65_002, 24, 16, 0),
    )


def one_set(number: int, *parts: bytes) -> bytes:
    body = b"".join(parts)
    return struct.pack(">HH", number, 4 + len(body)) + body


def template(number: int, *fields: tuple[int, int]) -> bytes:
    """Element and length each, in v9 and IPFIX alike; an enterprise stands behind as 4 bytes."""
    return struct.pack(">HH", number, len(fields)) + _fields(fields)


def _fields(fields: Sequence[tuple[int, int]]) -> bytes:
    return b"".join(
        struct.pack(">HH", *field) + (b"\0\0\0\x09" if field[0] & 0x8000 else b"")
        for field in fields
    )


def v9_options(number: int, scopes: Sequence[tuple[int, int]], *fields: tuple[int, int]) -> bytes:
    header = struct.pack(">HHH", number, 4 * len(scopes), 4 * len(fields))
    return header + _fields(scopes) + _fields(fields)


def ipfix_options(number: int, scopes: int, *fields: tuple[int, int]) -> bytes:
    return struct.pack(">HHH", number, len(fields), scopes) + _fields(fields)


def v9(*sets: bytes, sequence: int = 0, domain: int = 7) -> bytes:
    header = struct.pack(">HHIIII", 9, len(sets), UPTIME_MS, EXPORTED_S, sequence, domain)
    return header + b"".join(sets)


def ipfix(*sets: bytes, sequence: int = 0, domain: int = 7, cut: int = 0) -> bytes:
    body = b"".join(sets)
    return struct.pack(">HHIII", 10, 16 + len(body) + cut, EXPORTED_S, sequence, domain) + body


def sflow(*samples: bytes, sequence: int = 0, count: int | None = None) -> bytes:
    counted = len(samples) if count is None else count
    agent = ip_address("192.0.2.77").packed
    return struct.pack(">II4sIIII", 5, 1, agent, 3, sequence, 1_000, counted) + b"".join(samples)


def part(kind: int, body: bytes) -> bytes:
    """A sample of sFlow, or a record of one."""
    return struct.pack(">II", kind, len(body)) + body


def flow_sample(*records: bytes, rate: int = 512) -> bytes:
    head = struct.pack(">8I", 1, 9, rate, 5_000, 0, 11, 12, len(records))
    return part(1, head + b"".join(records))


def expanded_sample(*records: bytes, rate: int = 512) -> bytes:
    head = struct.pack(">11I", 1, 0, 9, rate, 5_000, 0, 0, 1 << 20, 0, 12, len(records))
    return part(3, head + b"".join(records))


def raw_header(frame: bytes, length: int, protocol: int = 1) -> bytes:
    padding = bytes(-len(frame) % 4)
    return part(1, struct.pack(">4I", protocol, length, 4, len(frame)) + frame + padding)
