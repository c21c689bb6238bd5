# SPDX-License-Identifier: Apache-2.0
"""What a query reads: packets of captures, and answers of other queries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.answers.reference.syntax import Table
from tests.answers.reference.typed import Typed
from tests.oracle.fragments import Datagrams, wholes
from tests.oracle.packet import Layers
from tests.oracle.query import Decoded
from tests.oracle.segments import Segments, in_order
from tests.oracle.tunnels import inside
from tests.oracle.values import Inet, Ip, Ipv6, Mac, Timestamp

Row = tuple[Any, ...]
DEFAULT_INTERFACE = "default"
SHOWN = {"IP": Ip, "IPV6": Ipv6, "INET": Inet, "timestamp": Timestamp}


@dataclass(frozen=True)
class Tuple:
    """A row of the input behind what orders it for FIRST and LAST."""

    place: tuple[Any, ...]
    row: Any
    number: int = 0
    """Of a packet, among the tuples of its source, from 0."""


@dataclass(frozen=True)
class View:
    """How a query sees packets, by its DEFINE."""

    decapsulate: str = ""
    defragment: bool = False
    tcp_order: bool = False

    @classmethod
    def of(cls, options: Mapping[str, str]) -> View:
        """What these options say."""
        wanted = (options.get(name) in ("yes", "true") for name in ("defragment", "tcp_order"))
        return cls(options.get("decapsulate", ""), *wanted)


AS_THEY_ARE = View()


class Source:
    """A capture, taken apart, and the interface that it is read for."""

    def __init__(self, decoded: Decoded, interface: str = DEFAULT_INTERFACE) -> None:
        self.interface = interface
        self._decoded = decoded
        self._tuples: dict[tuple[str, View], list[Tuple]] = {}
        self._seen: dict[View, list[Layers]] = {AS_THEY_ARE: decoded.layers}

    def tuples(self, protocol: str, view: View = AS_THEY_ARE) -> list[Tuple]:
        """Its packets of a protocol, each behind (timestamp, position in the source)."""
        key = protocol, view
        if key not in self._tuples:
            self._tuples[key] = list(self._as_protocol(protocol, view))
        return self._tuples[key]

    def _see(self, view: View) -> list[Layers]:
        layers = self._decoded.layers
        datagrams = Datagrams() if view.defragment else None
        if view.tcp_order:
            return list(in_order(layers, view.decapsulate, Segments(), datagrams))
        if datagrams is not None:
            return list(wholes(layers, view.decapsulate, datagrams))
        opened = (inside(each.record, view.decapsulate) for each in layers)
        return [each for each in opened if each is not None]

    def _as_protocol(self, protocol: str, view: View) -> Iterator[Tuple]:
        if view not in self._seen:
            self._seen[view] = self._see(view)
        for layers in self._seen[view]:
            packet = layers.as_protocol(protocol)
            if packet is not None:
                record = layers.record
                packet["interface"] = (record.interface_name or self.interface).encode()
                yield Tuple((record.timestamp_ns, record.index), packet)


@dataclass(frozen=True)
class Column:
    """A column of an answer."""

    name: str
    typed: Typed


@dataclass(frozen=True)
class Answer:
    """The rows of a query, in no order."""

    columns: tuple[Column, ...]
    rows: list[Row]
    is_output: bool = True
    packets: tuple[Table, ...] = ()
    """Of a merge of packets that is read by names: what it merges."""
    required: set[str] | None = None
    """The fields that they must have: those that its readers name, who add to it."""
    ordered_by: int | None = field(default=None)
    """The place of the column that orders the rows; else the first temporal one does."""

    def shown(self) -> list[Row]:
        """The rows in values that print as the command line prints them."""
        makers = [_maker(column.typed) for column in self.columns]
        return [
            tuple(
                value if make is None or value is None else make(value)
                for make, value in zip(makers, row, strict=True)
            )
            for row in self.rows
        ]

    def place(self, name: str) -> int:
        """Where the column of that name stands. KeyError if none does."""
        for index, column in enumerate(self.columns):
            if column.name == name:
                return index
        raise KeyError(name)

    def tuples(self) -> Iterator[Tuple]:
        """Its rows by what orders them; the value decides between equals."""
        temporal = [at for at, column in enumerate(self.columns) if column.typed.is_temporal]
        order = temporal[:1] if self.ordered_by is None else [self.ordered_by]
        for row in self.rows:
            yield Tuple(tuple(row[at] for at in order), row)


def _maker(typed: Typed) -> Any:
    return Mac if typed.subtype == "mac" else SHOWN.get(typed.type)
