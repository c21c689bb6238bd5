# SPDX-License-Identifier: Apache-2.0
"""A capture of more bytes than lie in memory at once."""

from __future__ import annotations

from pathlib import Path

_HEADER = bytes.fromhex("d4c3b2a1020004000000000000000000ffff000001000000")


def write_long_capture(path: Path) -> Path:
    """Some 12 MB of records of all lengths, whose times step back now and then."""
    with path.open("wb") as file:
        file.write(_HEADER)
        for number in range(20_000):
            file.write(_record(number))
    return path


def _record(number: int) -> bytes:
    payload = bytes(number * 7919 % 1200)
    late = 40 if number % 997 == 0 else 0
    pair = bytes((10, 0, number * 31 % 7, number % 251, 10, 1, 0, number * 17 % 13))
    packet = bytes(12) + b"\x08\x00" + b"\x45\x00"
    packet += (28 + len(payload)).to_bytes(2, "big") + bytes(4) + b"\x40\x11\x00\x00" + pair
    packet += bytes((1, 2, 0, 53)) + (8 + len(payload)).to_bytes(2, "big") + bytes(2) + payload
    words = (1_700_000_000 + number // 100 - late, number % 100 * 10_000, len(packet), len(packet))
    return b"".join(word.to_bytes(4, "little") for word in words) + packet
