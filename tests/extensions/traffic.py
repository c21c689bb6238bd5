# SPDX-License-Identifier: Apache-2.0
"""Packets for examples/extensions, and its queries' rows in plain Python, as one pass over them.

Nothing is merged here, and no C is asked: an aggregate is a function of all values of its group.
"""

from __future__ import annotations

import math
import random
import struct
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address
from pathlib import Path
from typing import TypeVar

from tests.live.mock_link import SECOND_NS, START_NS, Frame

FOLDER = Path(__file__).parents[2] / "examples" / "extensions"
DEFINITIONS, QUERIES = FOLDER / "traffic.gsql", FOLDER / "queries.gsql"
OUTPUTS = ("sizes", "distinct_ports", "web", "segments", "paths", "sliding")
Cell = int | float | str
Row = tuple[Cell, ...]
K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True)
class Segment:
    """A TCP segment."""

    timestamp_ns: int
    addresses: tuple[int, int]
    ports: tuple[int, int]
    data: bytes
    largest: int | None
    """What its option announces."""

    @property
    def options(self) -> bytes:
        return b"" if self.largest is None else struct.pack("!BBBBH", 1, 1, 2, 4, self.largest)

    @property
    def length(self) -> int:
        return 14 + 20 + 20 + len(self.padded) + len(self.data)

    @property
    def padded(self) -> bytes:
        return self.options + bytes(-len(self.options) % 4)

    @property
    def minute(self) -> int:
        return self.timestamp_ns // SECOND_NS // 60

    @property
    def frame(self) -> Frame:
        head = struct.pack("!HHIIBBHHH", *self.ports, 1, 1, (5 + len(self.padded) // 4) << 4, 16,
                           1000, 0, 0)  # fmt: skip
        length = 20 + len(head) + len(self.padded) + len(self.data)
        ip = struct.pack("!BBHHHBBHII", 0x45, 0, length, 1, 0, 64, 6, 0, *self.addresses)
        bytes_ = bytes(12) + b"\x08\x00" + ip + head + self.padded + self.data
        return Frame(self.timestamp_ns, bytes_, len(bytes_))


def segments(seed: int = 1, count: int = 1500) -> list[Segment]:
    """Segments of a few hosts over some minutes, whose windows are not empty."""
    rng, found, now = random.Random(seed), [], START_NS // (60 * SECOND_NS) * 60 * SECOND_NS
    for _ in range(count):
        now += rng.randrange(SECOND_NS // 2)
        size = rng.choice((0, 0, 1, rng.randrange(300)))
        data = bytes(rng.choices(b"abcdefgh \x00\xff", k=size))
        if rng.random() < 0.2:
            data = b"GET /%d HTTP/1.1\r\n" % rng.randrange(3) + data
        ports = rng.choice((80, 443, 22, 50000 + rng.randrange(90))), rng.randrange(1, 65536)
        largest = rng.choice((None, 1460, 536)) if rng.random() < 0.5 else None
        hosts = (0x0A000001 + rng.randrange(5), 0x0A000101 + rng.randrange(3))
        found.append(Segment(now, hosts, rng.choice((ports, ports[::-1])), data, largest))
    return found


def rows(packets: Sequence[Segment]) -> dict[str, list[Row]]:
    """The rows of every output, sorted."""
    found = {
        "sizes": _sizes(packets),
        "distinct_ports": _distinct_ports(packets),
        "web": _web(packets),
        "segments": _segments(packets),
        "paths": _paths(packets),
        "sliding": _sliding(packets),
    }
    return {name: sorted(each) for name, each in found.items()}


def _grouped(packets: Iterable[Segment], key: Callable[[Segment], K]) -> dict[K, list[Segment]]:
    found: dict[K, list[Segment]] = defaultdict(list)
    for packet in packets:
        found[key(packet)].append(packet)
    return found


def _sizes(packets: Sequence[Segment]) -> Iterable[Row]:
    for (minute, source), group in _grouped(packets, lambda p: (p.minute, p.addresses[0])).items():
        sizes = [packet.length for packet in group]
        middle, large = quantile(sizes, 0.5), quantile(sizes, 0.9)
        classes = Counter(size.bit_length() for size in sizes)
        address = str(IPv4Address(source))
        yield minute, address, len(sizes), len(sizes), middle, large, entropy(classes)


def _distinct_ports(packets: Sequence[Segment]) -> Iterable[Row]:
    for (minute, source), group in _grouped(packets, lambda p: (p.minute, p.addresses[0])).items():
        pairs = [packet.ports[0] << 32 | packet.ports[1] for packet in group]
        yield minute, str(IPv4Address(source)), distinct_about(pairs, 64)


def _web(packets: Sequence[Segment]) -> Iterable[Row]:
    for (minute, target), group in _grouped(packets, lambda p: (p.minute, p.addresses[1])).items():
        listed = sum(len(p.data) for p in group if p.ports[0] in (80, 443))
        counts = Counter(byte for packet in group for byte in packet.data)
        if counts:
            share = listed / counts.total()
            yield minute, str(IPv4Address(target)), share, entropy(counts)


def _segments(packets: Sequence[Segment]) -> Iterable[Row]:
    chosen = [p for p in packets if p.largest is not None and p.ports[0] >= 49152]
    for (minute, largest), group in _grouped(chosen, lambda p: (p.minute, p.largest)).items():
        seen = 0
        for packet in group:
            seen |= packet.length
        yield minute, largest or 0, len(group), seen


def _paths(packets: Sequence[Segment]) -> Iterable[Row]:
    asked = [p for p in packets if p.data.startswith(b"GET /")]
    paths = _grouped(asked, lambda p: (p.minute, p.data.split(b" ")[1].decode()))
    for (minute, path), group in paths.items():
        yield minute, path, len(group), distinct_about([p.ports[0] for p in group], 16)


def _sliding(packets: Sequence[Segment]) -> Iterable[Row]:
    """Windows of two minutes, a new one each minute."""
    minutes = _grouped(packets, lambda p: p.minute)
    for end in sorted({minute + later for minute in minutes for later in (1, 2)}):
        group = [*minutes.get(end - 2, ()), *minutes.get(end - 1, ())]
        ports = distinct_about([packet.ports[1] for packet in group], 256)
        yield end * 60, quantile([packet.length for packet in group], 0.5), ports


# The aggregates


def quantile(sizes: Sequence[int], p: float) -> int:
    """The greatest size of the class, by number of bits, in which that part of them ends."""
    ordered = sorted(size.bit_length() for size in sizes)
    needed = max(1, math.ceil(p * len(ordered)))
    return int((1 << ordered[needed - 1]) - 1)


def entropy(counts: Counter[int]) -> float:
    """Bits."""
    parts = [count / counts.total() for _, count in sorted(counts.items())]
    return -sum(part * math.log2(part) for part in parts)


def distinct_about(values: Iterable[int], k: int) -> float:
    """By the k least hashes."""
    hashes = sorted({splitmix64(value) for value in values})
    return float(len(hashes)) if len(hashes) < k else (k - 1) / (hashes[k - 1] / 2**64)


def splitmix64(value: int) -> int:
    """Sebastiano Vigna's: what the examples hash with."""
    mask = (1 << 64) - 1
    value = value + 0x9E3779B97F4A7C15 & mask
    value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9 & mask
    value = (value ^ value >> 27) * 0x94D049BB133111EB & mask
    return value ^ value >> 31
