# SPDX-License-Identifier: Apache-2.0
"""Aggregating queries, each beside what the models need to know of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.engine.group_hash import ADDRESS, SMALL, Group, KeyColumn
from tests.models.bounds import Column, Vector
from tests.oracle.packet import FieldAbsentError, Packet, parse
from tests.oracle.records import Record

FOLDER = Path(__file__).parent / "queries"
SECOND_NS = 1_000_000_000
Accepted = tuple[Vector, Group, int]


@dataclass(frozen=True)
class Variable:
    """A temporal group variable; a decreasing one is held as its negative."""

    column: Column
    is_decreasing: bool = False


@dataclass(frozen=True)
class Key:
    """Another group variable: a field of the packet."""

    field: str
    column: KeyColumn = SMALL


@dataclass(frozen=True)
class LowCase:
    """A query of count(*) and sum(len), and its group variables in their order."""

    name: str
    protocol: str
    groups: tuple[Variable | Key, ...]
    where: Callable[[Packet], bool] = lambda packet: True

    def text(self, options: str = "", query: str = "q") -> str:
        """The GSQL text, with more DEFINE options."""
        body = (FOLDER / f"{self.name}.gsql").read_text(encoding="utf-8")
        return f"DEFINE {{ query_name {query}; {options} }} {body}"

    @property
    def temporal(self) -> tuple[int, ...]:
        """Places of the temporal group variables, which are columns of partial rows as well."""
        return tuple(i for i, group in enumerate(self.groups) if isinstance(group, Variable))

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The temporal group variables."""
        return tuple(group for group in self.groups if isinstance(group, Variable))

    @property
    def keys(self) -> tuple[Key, ...]:
        """The other group variables."""
        return tuple(group for group in self.groups if isinstance(group, Key))

    def accepted(self, record: Record) -> Accepted | None:
        """(window, group, length) where the record is a tuple that the query takes."""
        layers = parse(record)
        packet = layers.as_protocol(self.protocol) if layers else None
        if packet is None or record.timestamp_ns is None:
            return None
        try:
            if not self.where(packet):
                return None
            group = tuple(packet[key.field] for key in self.keys)
        except FieldAbsentError:
            return None
        time = record.timestamp_ns
        return tuple(v.column.function(time) for v in self.variables), group, packet["len"]

    def _places(self) -> list[tuple[int, Variable]]:
        return [(i, group) for i, group in enumerate(self.groups) if isinstance(group, Variable)]

    def partial(self, row: tuple[int | bytes, ...]) -> tuple[Vector, Group, tuple[int, ...]]:
        """A partial row of the engine as window, group and state."""
        signs = {i: -1 if v.is_decreasing else 1 for i, v in self._places()}
        window = tuple(sign * int(row[i]) for i, sign in signs.items())
        group = tuple(row[i] for i in range(len(self.groups)) if i not in signs)
        return window, group, tuple(int(cell) for cell in row[len(self.groups) :])


def _seconds(time: int) -> int:
    return time // SECOND_NS


def _quotient(number: int, divisor: int) -> int:
    """Division as GSQL divides: towards zero."""
    return number // divisor if number >= 0 else -(-number // divisor)


TENS = Variable(Column(lambda time: _seconds(time) // 10))
STARTS = Variable(Column(lambda time: _seconds(time) // 10 * 10, 10))
FOURS = Variable(Column(lambda time: _seconds(time) // 4))
EIGHTS = Variable(Column(lambda time: _seconds(time) >> 3))
HALVES = Variable(Column(lambda time: time // 1_000_000 // 2500))
REST = Variable(Column(lambda t: -_quotient(1_700_000_100 - _seconds(t), 10)), True)
REST_OF_MINUTE = Variable(Column(lambda t: -_quotient(1_700_000_060 - _seconds(t), 25)), True)


CASES = (
    LowCase("tens", "IPV4", (TENS, Key("srcIP"))),
    LowCase("starts", "IPV4", (STARTS, Key("srcIP"), Key("destIP"))),
    LowCase("falling", "DataProtocol", (Key("protocol"), REST, Key("srcPort"))),
    LowCase("two", "IP", (TENS, Key("srcIP", ADDRESS), FOURS)),
    LowCase(
        "two_ways",
        "IPV4",
        (REST_OF_MINUTE, Key("srcIP"), EIGHTS),
        where=lambda packet: packet["protocol"] == 17 or packet["len"] > 70,
    ),
    LowCase("keyless", "PKT", (HALVES,)),
)
