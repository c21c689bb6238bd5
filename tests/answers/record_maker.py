# SPDX-License-Identifier: Apache-2.0
"""STREAMs at random, and queries over them: alone, with each other and with packets."""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from tests.answers.mixture import START_NS
from tests.answers.query_maker import BOOL, FLOAT, INET, IP, STRING, TIMESTAMP, WHOLE, Column
from tests.answers.reference.records import Records, records
from tests.answers.stream_maker import BANDS, EQUALITIES, Side, StreamMaker, named

DEFINITIONS = """
STREAM events {
    uint time (increasing, clock s); ushort len; INET srcIP; string interface; bool up; float rate;
}
STREAM others {
    uint time (increasing, clock s); ushort len; INET srcIP; string interface; bool up; float rate;
}
STREAM ticks { timestamp timestamp (increasing); ullong len; IP destIP; string name; }
STREAM plain { uint time (increasing, clock s); uint len; string interface; }
"""
_SECONDS = [
    Column("time", WHOLE, is_temporal=True),
    Column("len", WHOLE, is_small=True),
    Column("srcIP", INET),
    Column("interface", STRING),
    Column("up", BOOL),
    Column("rate", FLOAT),
]
STREAMS: dict[str, list[Column]] = {
    "events": _SECONDS,
    "others": _SECONDS,
    "ticks": [
        Column("timestamp", TIMESTAMP, is_temporal=True),
        Column("len", WHOLE, is_small=True),
        Column("destIP", IP),
        Column("name", STRING),
    ],
    "plain": [_SECONDS[0], _SECONDS[1], _SECONDS[3]],
}
TYPES = {
    "events": ("uint", "ushort", "INET", "string", "bool", "float"),
    "others": ("uint", "ushort", "INET", "string", "bool", "float"),
    "ticks": ("timestamp", "ullong", "IP", "string"),
    "plain": ("uint", "uint", "string"),
}
TICKS = {"ticks": 1}
"""Nanoseconds of a time's unit, where that is no second."""
MEETING = (EQUALITIES[0], EQUALITIES[1], EQUALITIES[3], BANDS[0], BANDS[3])
TEXTS = ("", "left", "GET", "grüße", 'a "b", c')


class RecordMaker(StreamMaker):
    """Makes sets of queries that read STREAMs."""

    def __init__(self, random: Random, interfaces: Sequence[str]) -> None:
        super().__init__(random, interfaces, ())
        self._makers = [
            self._over_stream,
            self._over_stream,
            self._window_over_stream,
            self._union_of_streams,
            self._beside_packets,
            self._merge_of_streams,
            self._join_of_streams,
            self._join_with_packets,
            self._join_with_packets,
        ]

    def _over_stream(self, name: str) -> str:
        stream = self._pick(*STREAMS)
        self._columns = self._some(STREAMS[stream])
        return self._query(name, stream, "")[0]

    def _window_over_stream(self, name: str) -> str:
        stream = self._pick("events", "others", "plain")
        self._columns = STREAMS[stream]
        return self._windowed(name, stream, {"time": 1})

    def _union_of_streams(self, name: str) -> str:
        self._columns = _SECONDS
        return self._query(name, "events UNION others", "")[0]

    def _beside_packets(self, name: str) -> str:
        """Packets give the fields that are called as the STREAM's."""
        self._columns = STREAMS["plain"]
        parts = self._random.sample(["plain", self._pick("TCP", "PKT", "IPV4")], 2)
        return self._query(name, " UNION ".join(parts), "")[0]

    def _merge_of_streams(self, name: str) -> str:
        merge = f"MERGE a.time : b.time{self._pick('', ' SLACK 2')} FROM events a, others b"
        if self._random.random() < 0.3:
            return f"DEFINE {{ query_name {name}; }}\n{merge}"
        self._columns = self._some(_SECONDS)
        inner = f"DEFINE {{ query_name {name}_in; visibility internal; }}\n{merge}"
        return f"{inner};\n{self._query(name, f'{name}_in', '')[0]}"

    def _join_of_streams(self, name: str) -> str:
        a, b = (self._side(letter, self._pick("events", "others", "plain")) for letter in "ab")
        return self._joined(name, a, b, self._pick(*MEETING))

    def _join_with_packets(self, name: str) -> str:
        sides = [self._side("a", self._pick("events", "others")), self.packet_side("b")]
        if self._random.random() < 0.5:
            sides = [self.packet_side("a"), self._side("b", "plain")]
        return self._joined(name, *sides, self._pick(*MEETING))

    @staticmethod
    def _side(letter: str, stream: str) -> Side:
        return Side(letter, f"{stream} {letter}", named(letter, STREAMS[stream]))


@dataclass(frozen=True)
class Given:
    """What comes of a STREAM: the lines, those that are no records among them, and the records."""

    text: str
    rows: list[tuple[Any, ...]]
    undecodable: int

    def answer(self, stream: str, slack_ns: int) -> Records:
        """What the reference reads."""
        names = (column.name for column in STREAMS[stream])
        fields = list(zip(names, TYPES[stream], strict=True))
        return records(fields, self.rows, TICKS.get(stream, 10**9), slack_ns)


def given_of(stream: str, seed: int, count: int, seconds: int) -> Given:
    """Records as lines of JSON, mostly in order; equal seeds give equal ones."""
    random = Random(f"{stream} {seed}")
    lines, rows, undecodable = [], [], 0
    names = [column.name for column in STREAMS[stream]]
    for number in range(count):
        second = seconds * number // max(1, count) - random.choice((0, 0, 0, 1, 3))
        first = _timestamp if stream in TICKS else _time
        makers = [first, *(_OF_TYPE[type_] for type_ in TYPES[stream][1:])]
        values = [make(random, max(0, second)) for make in makers]
        shown = dict(zip(names, (text for text, _ in values), strict=True))
        if random.random() < 0.05:
            shown[random.choice(names)] = random.choice((None, [1], {}))
            undecodable += 1
        else:
            rows.append(tuple(value for _, value in values))
        lines.append(json.dumps(shown) + "\n")
    return Given("".join(lines), rows, undecodable)


def _time(random: Random, second: int) -> tuple[int, int]:
    """A value as JSON has it, and as the reference does."""
    found = START_NS // 10**9 + second
    return found, found


def _timestamp(random: Random, second: int) -> tuple[int, int]:
    found = START_NS + second * 10**9 + random.randrange(10**9)
    return found, found


def _small(random: Random, _: int) -> tuple[int, int]:
    found = random.choice((0, 1, 64, 80, 1500))
    return found, found


def _address(random: Random, _: int) -> tuple[str, int]:
    found = ipaddress.IPv4Address(0x0A000000 + random.randrange(4))
    return str(found), int(found)


def _either(random: Random, _: int) -> tuple[str, bytes]:
    if random.random() < 0.3:
        six = ipaddress.IPv6Address(f"2001:db8::{random.randrange(3)}")
        return str(six), six.packed
    text, number = _address(random, 0)
    return text, b"\0" * 10 + b"\xff\xff" + number.to_bytes(4)


def _text(random: Random, _: int) -> tuple[str, bytes]:
    found = random.choice(TEXTS)
    return found, found.encode()


def _truth(random: Random, _: int) -> tuple[bool, bool]:
    found = random.random() < 0.5
    return found, found


def _number(random: Random, _: int) -> tuple[float, float]:
    found = random.choice((0.0, 0.5, -2.25, 1e6))
    return found, found


_OF_TYPE = {
    "ushort": _small,
    "uint": _small,
    "ullong": _small,
    "IP": _address,
    "INET": _either,
    "string": _text,
    "bool": _truth,
    "float": _number,
}
