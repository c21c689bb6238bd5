# SPDX-License-Identifier: Apache-2.0
"""What the fuzzers begin with, made here: files of every kind, frames of every link type."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

from tests.capture.capture_files import (
    enhanced,
    interface,
    obsolete,
    option,
    pcap,
    record,
    section,
    simple,
)
from tests.decode.harness import Frame, read_cases
from tests.fuzz.small_sets import small_query_sets
from tests.strategies.fragments import honest, hostile

CASES = Path(__file__).parents[1] / "decode" / "cases"
CAPTURE_WAYS = 4
NANOSECONDS = 0xA1B23C4D
ETHERNET = 1
OF_LINK = {1: 1, 2: 101, 3: 0, 4: 108, 5: 113, 6: 276, 7: 9, 8: 105, 9: 127, 10: 228, 11: 229}
OF_LINK |= {12: 104, 13: 107, 14: 192, 15: 258, 16: 117, 17: 239, 18: 242, 19: 123, 20: 6, 21: 10}
"""LINKTYPE_ number of each enum gs_link."""


def frames() -> list[Frame]:
    """The frames of the decoder's cases."""
    return [case.frame for path in sorted(CASES.glob("*.txt")) for case in read_cases(path)]


def captures() -> Iterator[bytes]:
    """Small capture files of every kind: byte orders, resolutions, blocks, link types."""
    names = option(2, b"eth0") + option(9, b"\x09") + option(14, bytes(8)) + option(0, b"")
    for order in "<>":
        records = [record(second, data=bytes(64), order=order) for second in (1, 70, 3)]
        yield pcap(*records, order=order)
        yield pcap(*records, order=order, magic=NANOSECONDS)
        yield pcap(record(1, extra=bytes(8), order=order), order=order, magic=0xA1B2CD34)
        head = section(order) + interface(options=names, order=order) + interface(order=order)
        packets = enhanced(5, order=order) + simple(order=order) + obsolete(7, order=order)
        yield head + packets + section(order) + interface(order=order) + enhanced(9, order=order)
    for link, number in OF_LINK.items():
        of_link = [frame.bytes for frame in frames() if frame.link == link][:12]
        times = range(1_700_000_000, 1_800_000_000, 40)
        records = [record(at, data=data) for at, data in zip(times, of_link, strict=False)]
        yield pcap(*records, linktype=number)


def seeds(target: str) -> Iterator[bytes]:
    """The seeds of a C target."""
    if target == "decode":
        for frame in frames():
            yield bytes((frame.link, 0)) + frame.bytes
    elif target == "reassembly":
        for pieces in (honest() | hostile()).values():
            yield b"".join(struct.pack("!BBH", ETHERNET, 1, len(piece)) + piece for piece in pieces)
    elif target == "import":
        yield from (bytes((kind, 64 + kind)) + bytes(range(100)) * 4 for kind in range(12))
    else:
        for number, capture in enumerate(captures()):
            if target == "capture":
                yield bytes((number % CAPTURE_WAYS + 16,)) + capture
            else:
                part = number % len(small_query_sets())
                yield bytes((part, number * 37 % 256)) + capture
