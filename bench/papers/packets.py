# SPDX-License-Identifier: Apache-2.0
"""Streams of packets made to measure, as captures in memory that the product reads as files.

A packet is Ethernet, IPv4 and TCP without payload, 54 bytes; its addresses and ports are those of
one group of so many, drawn evenly. Equal descriptions give equal bytes.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from recorded import Recorded

from gigastream.sources.files import FileSource

START_S = 1_800_000_000
"""When every stream begins: a whole number of minutes, and of ten seconds."""
SECOND_NS = 10**9
SYN, SYN_ACK, ACK = 0x02, 0x12, 0x10
_CHUNK_PACKETS = 1 << 20
_MIXED_WITH = (0x85EBCA6B, 0xC2B2AE35)  # odd, so that no two groups meet
_IP, _ARP = 0x0800, 0x0806
PCAP_HEADER = struct.pack("<IHHIIII", 0xA1B23C4D, 2, 4, 0, 0, 262_144, 1)
_RECORD = np.dtype(
    [
        ("seconds", "<u4"), ("nanoseconds", "<u4"), ("captured", "<u4"), ("length", "<u4"),
        ("destMAC", "S6"), ("srcMAC", "S6"), ("etherType", ">u2"),
        ("version", "u1"), ("tos", "u1"), ("total_length", ">u2"), ("id", ">u2"),
        ("fragment", ">u2"), ("ttl", "u1"), ("protocol", "u1"), ("ip_checksum", ">u2"),
        ("srcIP", ">u4"), ("destIP", ">u4"),
        ("srcPort", ">u2"), ("destPort", ">u2"), ("sequence", ">u4"), ("acknowledged", ">u4"),
        ("offset", "u1"), ("flags", "u1"), ("window", ">u2"), ("tcp_checksum", ">u2"),
        ("urgent", ">u2"),
    ]
)  # fmt: skip
RECORD_BYTES = _RECORD.itemsize
_FRAME_BYTES = RECORD_BYTES - 16


@dataclass(frozen=True)
class Traffic:
    """What a stream is made of."""

    rate: float
    """Packets a second of capture time."""
    seconds: float
    groups: int
    """Connections, each of its own pair of addresses."""
    seed: int = 1
    first_second: float = 0
    """When the first packet comes, after START_S."""
    are_replies: bool = False
    """Addresses and ports change places: the other direction of the same connections."""
    flags: int = ACK
    is_poisson: bool = False
    """Packets come at random; else evenly spaced."""
    recorded: Recorded | None = None
    """Frames of a real link in the place of made ones, of which rate and length alone are used."""

    @property
    def packets(self) -> int:
        """How many."""
        return round(self.rate * self.seconds)


class Capture:
    """A capture in memory; a file source while it is open."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._descriptor = os.memfd_create("gigastream-papers")
        with os.fdopen(os.dup(self._descriptor), "wb") as file:
            file.write(PCAP_HEADER)
            for chunk in chunks:
                file.write(chunk)

    def source(self, interface: str) -> FileSource:
        """It as the packets of an interface: of one session at a time."""
        return FileSource(interface, f"/proc/self/fd/{self._descriptor}", self._descriptor)

    @property
    def path(self) -> str:
        """Where another process of this user can read it."""
        return f"/proc/{os.getpid()}/fd/{self._descriptor}"

    def close(self) -> None:
        """Give the memory back."""
        os.close(self._descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def capture(*traffics: Traffic) -> Capture:
    """Make the packets of these, one stream after the other: each begins where another ended."""
    return Capture(chunk for traffic in traffics for chunk in _chunks(traffic))


def records_of(traffic: Traffic) -> np.ndarray:
    """Make its packets, each with its record's header, as fields that may be changed."""
    return np.frombuffer(bytearray().join(_chunks(traffic)), _RECORD)


def clock(seconds: Sequence[float]) -> Capture:
    """A link without traffic whose clock is heard at these times, after START_S.

    What a ring's heartbeat says is said by two ARP frames, which are no tuples of any query: a
    source has come as far as two packets in a row have reached (OPERATORS section 2).
    """
    return Capture(iter([_records(np.repeat(_nanoseconds(seconds), 2), _ARP).tobytes()]))


def one_frame(dest_port: int) -> bytes:
    """Make one packet without its record, for a ring."""
    whole = _packets(Traffic(1, 1, 1), np.zeros(1), np.zeros(1, int), dest_port)
    return whole[RECORD_BYTES - _FRAME_BYTES :]


def _nanoseconds(seconds: Sequence[float]) -> np.ndarray:
    return np.round(np.asarray(seconds, float) * SECOND_NS).astype(np.int64)


def _chunks(traffic: Traffic) -> Iterator[bytes]:
    if traffic.recorded is None:
        return _made(traffic)
    first_ns = START_S * SECOND_NS + round(traffic.first_second * SECOND_NS)
    return traffic.recorded.records(traffic.rate, traffic.seconds, first_ns)


def _made(traffic: Traffic) -> Iterator[bytes]:
    random = np.random.default_rng(traffic.seed)
    reached_s = traffic.first_second
    for begin in range(0, traffic.packets, _CHUNK_PACKETS):
        count = min(_CHUNK_PACKETS, traffic.packets - begin)
        if traffic.is_poisson:
            times_s = reached_s + np.cumsum(random.exponential(1 / traffic.rate, count))
            reached_s = float(times_s[-1])
        else:
            times_s = traffic.first_second + np.arange(begin, begin + count) / traffic.rate
        yield _packets(traffic, times_s, random.integers(traffic.groups, size=count))


def _packets(
    traffic: Traffic, times_s: np.ndarray, groups: np.ndarray, dest_port: int = 443
) -> bytes:
    records = _records(_nanoseconds(times_s), _IP)
    records["version"], records["ttl"], records["protocol"] = 0x45, 64, 6
    records["total_length"] = _FRAME_BYTES - 14
    records["offset"], records["flags"] = 0x50, traffic.flags
    ends = ("dest", "src") if traffic.are_replies else ("src", "dest")
    records[f"{ends[0]}IP"] = _scattered(groups)
    records[f"{ends[1]}IP"] = _scattered(groups + (1 << 31))
    records[f"{ends[0]}Port"], records[f"{ends[1]}Port"] = 1024 + groups % 60_000, dest_port
    return records.tobytes()


def _scattered(numbers: np.ndarray) -> np.ndarray:
    """A permutation of 32 bits without any pattern: a hash must not fare better than on a link."""
    mixed = numbers.astype(np.uint32)
    for factor in _MIXED_WITH:
        mixed = (mixed ^ mixed >> np.uint32(15)) * np.uint32(factor)
    return mixed ^ mixed >> np.uint32(16)


def _records(times_ns: np.ndarray, ether_type: int) -> np.ndarray:
    records = np.zeros(len(times_ns), _RECORD)
    records["seconds"] = START_S + times_ns // SECOND_NS
    records["nanoseconds"] = times_ns % SECOND_NS
    records["captured"] = records["length"] = _FRAME_BYTES
    records["etherType"] = ether_type
    return records
