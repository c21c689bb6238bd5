# SPDX-License-Identifier: Apache-2.0
"""Captures changed at random: as bytes, and where their format and their headers say lengths."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from random import Random

from tests.oracle.capture import read_bytes

LYING = (0, 1, 7, 8, 0x7F, 0xFF, 0x7FFF, 0xFFFF, 0x3FFFF, 0x40000, 0x40001, 0x7FFFFFFF, 0xFFFFFFFF)
RECORD_HEADER_BYTES = 32
"""Of a pcap record 16, of a pcapng block up to 28."""
HEADERS_BYTES = 128
"""Of a packet: where the lengths of its protocols are."""


def mutate(data: bytes, others: Sequence[bytes], random: Random) -> bytes:
    """One to four changes; the first four bytes are mostly left alone, or nothing is ever read."""
    changed = bytearray(data)
    for _ in range(random.randint(1, 4)):
        random.choice(_CHANGES)(changed, others, random)
    if random.random() < 0.95:
        changed[:4] = data[:4]
    return bytes(changed)


def mutate_bytes(data: bytes, others: Sequence[bytes], random: Random) -> bytes:
    """One to four changes of bytes that are no capture."""
    changed = bytearray(data)
    for _ in range(random.randint(1, 4)):
        random.choice(_CHANGES_OF_BYTES)(changed, others, random)
    return bytes(changed)


def _somewhere(data: bytearray, random: Random) -> int:
    return random.randrange(len(data)) if data else 0


def _flip(data: bytearray, others: Sequence[bytes], random: Random) -> None:
    for _ in range(random.choice((1, 1, 3, 20))):
        if data:
            data[_somewhere(data, random)] ^= 1 << random.randrange(8)


def _truncate(data: bytearray, others: Sequence[bytes], random: Random) -> None:
    del data[_somewhere(data, random) :]


def _cut_out(data: bytearray, others: Sequence[bytes], random: Random) -> None:
    at = _somewhere(data, random)
    del data[at : at + random.choice((1, 4, 16, 100))]


def _repeat(data: bytearray, others: Sequence[bytes], random: Random) -> None:
    at = _somewhere(data, random)
    data[at:at] = data[at : at + random.choice((1, 4, 16, 1000))]


def _splice(data: bytearray, others: Sequence[bytes], random: Random) -> None:
    """The rest of another capture in mid-file, or a whole one behind."""
    other = random.choice(others)
    at = len(data) if random.random() < 0.5 else _somewhere(data, random)
    data[at:] = other[random.choice((0, 24, len(other) // 2)) :]


def _lie_anywhere(data: bytearray, others: Sequence[bytes], random: Random) -> None:
    _overwrite(data, _somewhere(data, random), random)


def _lie_in_a_header(data: bytearray, others: Sequence[bytes], random: Random) -> None:
    """A length of a record, or of a header within its packet."""
    records = read_bytes(bytes(data)).records
    if not records:
        return
    for _ in range(random.choice((1, 2, 5))):
        start = random.choice(records).file_offset
        reach = random.choice((RECORD_HEADER_BYTES, RECORD_HEADER_BYTES + HEADERS_BYTES))
        _overwrite(data, start + random.randrange(reach), random)


def _overwrite(data: bytearray, at: int, random: Random) -> None:
    value, width = random.choice(LYING), random.choice((1, 2, 4))
    order = random.choice("<>")
    word = struct.pack(order + "Q", value & ((1 << (8 * width)) - 1))
    word = word[:width] if order == "<" else word[-width:]
    data[at : at + width] = word[: max(0, len(data) - at)]


_CHANGES_OF_BYTES = (_flip, _flip, _truncate, _cut_out, _repeat, _splice, _lie_anywhere)
_CHANGES = (*_CHANGES_OF_BYTES, _lie_in_a_header, _lie_in_a_header, _lie_in_a_header)
