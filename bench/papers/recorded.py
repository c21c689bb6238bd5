# SPDX-License-Identifier: Apache-2.0
"""Frames of real captures in the place of made ones: their addresses, sizes and rhythm.

A stream keeps the order of the frames and how they follow each other; their pace is stretched to
the rate that the experiment asks for, and what is over begins anew. A frame is cut where no query
of an experiment reads it any more, as a link with a snap length would.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import merge
from operator import attrgetter
from pathlib import Path

from captures import Packet, read_ethernet

SNAP_BYTES = 128
SECOND_NS = 10**9
_CHUNK_PACKETS = 1 << 16


@dataclass(frozen=True, eq=False)
class Recorded:
    """What one link carried."""

    frames: tuple[Packet, ...]
    """In order of time, the first at 0 ns."""

    @classmethod
    def read(cls, paths: Sequence[Path]) -> Recorded:
        """Read captures as if one link had carried all of them at once. ValueError, OSError."""
        streams = [_from_nothing(path) for path in paths]
        return cls(tuple(merge(*streams, key=attrgetter("timestamp_ns"))))

    def records(self, rate: float, seconds: float, start_ns: int) -> Iterator[bytes]:
        """Give them from a time on, so many a second on average, as records of a pcap file."""
        wanted, chunk = round(rate * seconds), []
        for number in range(wanted):
            turn, at = divmod(number, len(self.frames))
            frame = self.frames[at]
            time_ns = start_ns + round((turn + self._share(frame)) * len(self.frames) / rate * 1e9)
            chunk.append(_record(time_ns, frame))
            if len(chunk) == _CHUNK_PACKETS or number + 1 == wanted:
                yield b"".join(chunk)
                chunk.clear()

    def _share(self, frame: Packet) -> float:
        """How far it is in the whole, from 0 to below 1."""
        return frame.timestamp_ns / (self.frames[-1].timestamp_ns + 1)


def _from_nothing(path: Path) -> list[Packet]:
    found = sorted(read_ethernet(path), key=attrgetter("timestamp_ns"))
    if not found:
        raise ValueError(f"{path}: no Ethernet packets")
    first_ns = found[0].timestamp_ns
    return [Packet(p.timestamp_ns - first_ns, p.length_bytes, p.captured) for p in found]


def _record(time_ns: int, frame: Packet) -> bytes:
    captured = frame.captured[:SNAP_BYTES]
    header = (*divmod(time_ns, SECOND_NS), len(captured), max(frame.length_bytes, len(captured)))
    return struct.pack("<IIII", *header) + captured
