# SPDX-License-Identifier: Apache-2.0
"""Functions that give and take `fstringN`; the same queries by the engine and by plain Python."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.live.mock_link import SECOND_NS, START_NS, Frame

SIZES = (1, 3, 7, 8, 13, 16384, *random.Random(9).sample(range(1, 16385), 2))
"""The least and the greatest, odd ones, and some more."""
STATION = 6
LONG = 100

HEADER = """
#include "gs_packet.h"
#include "gs_strings.h"

static inline bool gs_field_station(const struct gs_packet *packet, uint8_t *station)
{
    if (packet->caplen >= 6) memcpy(station, packet->bytes, 6);
    return packet->caplen >= 6;
}
"""
FUNCTIONS = """
static inline void gs_function_tag{n}_uint(uint32_t x, uint8_t *tag)
{{
    for (uint32_t i = 0; i < {n}; i++)
        tag[i] = (uint8_t)(x * 31 + i * 7);
}}

static inline bool gs_function_odd_fstring{n}(const uint8_t *tag, uint8_t *same)
{{
    memcpy(same, tag, {n});
    return tag[0] % 2 == 1;
}}

static inline uint32_t gs_function_total_fstring{n}(const uint8_t *tag)
{{
    uint32_t sum = 0;
    for (uint32_t i = 0; i < {n}; i++)
        sum += tag[i];
    return sum;
}}
"""
DECLARED = """
fstring{n} FUN [LFTA_LEGAL, COST LOW] tag{n}(uint);
fstring{n} FUN [LFTA_LEGAL, PARTIAL, COST LOW] odd(fstring{n});
uint FUN [LFTA_LEGAL, COST LOW] total(fstring{n});
"""
PROTOCOL = "PROTOCOL STATIONS (ETH) { fstring6 station station; }"

QUERIES = """
DEFINE {{ query_name each; }}
SELECT time/5 AS tb, len, tag{n}(len) AS tag, interface, odd(tag{n}(len)) AS odd_tag, station,
    CASE WHEN len > 100 THEN tag{n}(len) END AS long_tag
FROM STATIONS WHERE NOT odd(tag{n}(len)) <> tag{n}(len);

DEFINE {{ query_name groups; aggregate_slots 4; }}
SELECT tb, tag{n}(len) AS tag, station, count(*) AS packets, sum(total(tag{n}(len))) AS total
FROM STATIONS GROUP BY time/5 AS tb, tag{n}(len), station;

DEFINE {{ query_name stations; aggregate_slots 2; }}
SELECT tb, station, first(tag{n}(len)) AS first_tag, last(tag{n}(len)) AS last_tag
FROM STATIONS GROUP BY time/5 AS tb, station;

DEFINE {{ query_name regrouped; }}
SELECT tb, long_tag, count(*) AS packets, count(long_tag) AS long_packets
FROM each GROUP BY tb, long_tag;

DEFINE {{ query_name best; }}
SELECT tb, tag{n}(len) AS tag, count(*) AS packets
FROM STATIONS GROUP BY time/5 AS tb, tag{n}(len) ORDER BY tag DESC LIMIT 2
"""
"""`each` is low, `groups` and `stations` begin there; `regrouped` is high, with a group of NULL."""
OUTPUTS = ("each", "groups", "stations", "regrouped", "best")


Row = tuple[str, ...]
"""As csv has it: bytes in hexadecimal, "" is NULL."""


def definitions(folder: Path, sizes: Sequence[int] = SIZES) -> Path:
    """A definition file with the functions of these sizes, and its header."""
    path = folder / "opaque.gsql"
    path.write_text(PROTOCOL + "".join(DECLARED.format(n=n) for n in sizes))
    path.with_suffix(".h").write_text(HEADER + "".join(FUNCTIONS.format(n=n) for n in sizes))
    return path


def frames(seed: int = 1, count: int = 300) -> list[Frame]:
    """Frames of a few stations and lengths, over some seconds."""
    rng = random.Random(seed)
    found, now = [], START_NS
    for _ in range(count):
        now += rng.randrange(SECOND_NS // 10)
        data = bytes([rng.randrange(3)] * STATION) + bytes(6) + b"\x88\xb5"
        found.append(Frame(now, data + bytes(60 + rng.randrange(8) * 7), 0))
    return [Frame(one.timestamp_ns, one.data, len(one.data)) for one in found]


def tag(size: int, length: int) -> bytes:
    return bytes((length * 31 + at * 7) % 256 for at in range(size))


def answers(size: int, packets: Sequence[Frame], interface: str) -> dict[str, list[Row]]:
    """The rows of every query, sorted."""
    found = {
        "each": _each(size, packets, interface),
        "groups": _groups(size, packets),
        "stations": _stations(size, packets),
        "regrouped": _regrouped(size, packets),
        "best": _best(size, packets),
    }
    return {name: sorted(rows) for name, rows in found.items()}


def _bucket(packet: Frame) -> int:
    return packet.timestamp_ns // SECOND_NS // 5


def _tagged(size: int, packets: Sequence[Frame]) -> Iterator[tuple[Frame, bytes]]:
    return ((packet, tag(size, packet.length)) for packet in packets)


def _with_odd_tags(size: int, packets: Sequence[Frame]) -> Iterator[tuple[Frame, bytes]]:
    return ((packet, mark) for packet, mark in _tagged(size, packets) if mark[0] % 2 == 1)


def _each(size: int, packets: Sequence[Frame], interface: str) -> Iterator[Row]:
    for packet, mark in _with_odd_tags(size, packets):
        long = mark.hex() if packet.length > LONG else ""
        row = (_bucket(packet), packet.length, mark.hex(), interface, mark.hex())
        yield (*map(str, row), packet.data[:STATION].hex(), long)


def _groups(size: int, packets: Sequence[Frame]) -> Iterator[Row]:
    keys = [(_bucket(p), mark, p.data[:STATION]) for p, mark in _tagged(size, packets)]
    for (bucket, mark, station), count in Counter(keys).items():
        row = (bucket, mark.hex(), station.hex(), count, count * sum(mark))
        yield tuple(map(str, row))


def _stations(size: int, packets: Sequence[Frame]) -> Iterator[Row]:
    groups: dict[tuple[int, bytes], list[bytes]] = {}
    for packet, mark in _tagged(size, packets):
        groups.setdefault((_bucket(packet), packet.data[:STATION]), []).append(mark)
    for (bucket, station), marks in groups.items():
        yield str(bucket), station.hex(), marks[0].hex(), marks[-1].hex()


def _regrouped(size: int, packets: Sequence[Frame]) -> Iterator[Row]:
    keys = [
        (_bucket(packet), mark.hex() if packet.length > LONG else "")
        for packet, mark in _with_odd_tags(size, packets)
    ]
    for (bucket, long), count in Counter(keys).items():
        yield str(bucket), long, str(count), str(count if long else 0)


def _best(size: int, packets: Sequence[Frame]) -> Iterator[Row]:
    counts = Counter((_bucket(p), mark) for p, mark in _tagged(size, packets))
    for bucket in sorted({bucket for bucket, _ in counts}):
        marks = sorted((mark for at, mark in counts if at == bucket), reverse=True)
        yield from ((str(bucket), m.hex(), str(counts[bucket, m])) for m in marks[:2])
