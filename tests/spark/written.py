# SPDX-License-Identifier: Apache-2.0
"""Spools for the source's tests, written by the writer that the engine uses."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from gigastream.spool import (
    END,
    NOTHING,
    SpoolSettings,
    SpoolWriter,
    StoredQuerySet,
    StreamDescription,
    TrackWriter,
)

SECOND_NS = 1_000_000_000
START_S = 1_700_000_040
"""A minute's begin: no test's window is cut by it."""

ARROW_TYPES: dict[str, pa.DataType] = {
    "bool": pa.bool_(),
    "ushort": pa.uint16(),
    "uint": pa.uint32(),
    "int": pa.int32(),
    "ullong": pa.uint64(),
    "llong": pa.int64(),
    "float": pa.float64(),
    "string": pa.binary(),
    "IP": pa.uint32(),
    "IPV6": pa.binary(16),
    "INET": pa.binary(16),
    "fstring1": pa.binary(1),
    "fstring13": pa.binary(13),
    "timestamp": pa.timestamp("ns", "UTC"),
}
TALK = {"time": "uint", "srcIP": "IP", "len": "ullong"}
"""A stream's columns: of each packet its second, its sender and its length."""

Rows = Sequence[Sequence[Any]]
Step = tuple[Rows | None, int]
"""Rows (None: punctuation alone) and the base time reached behind them, in nanoseconds."""


def seconds(offset_s: float) -> int:
    """A base time so many seconds after START_S."""
    return int((START_S + offset_s) * SECOND_NS)


def schema_of(columns: Mapping[str, str]) -> pa.Schema:
    return pa.schema([pa.field(name, ARROW_TYPES[type_]) for name, type_ in columns.items()])


def described(columns: Mapping[str, str]) -> list[dict[str, Any]]:
    """The columns as streams.json has them."""
    return [
        {
            "name": name,
            "type": type_,
            "temporal": "increasing" if name == "time" else "varying",
            "nullable": True,
            "subtype": "",
            "clock": "s" if name == "time" else "",
        }
        for name, type_ in columns.items()
    ]


class Written:
    """A spool being written: every step with rows is a segment of its own, listed on return."""

    def __init__(
        self,
        root: Path,
        columns: Mapping[str, str] = TALK,
        stream: str = "low",
        live: Collection[str] = (),
    ) -> None:
        """`live`: interfaces on which a generation goes on with that before it."""
        self.root = root
        self.live = live
        self.columns = columns
        self._stream = stream
        self._sequence = 0
        self._open: dict[str, None] = {}
        """Interfaces that have not ended: each run has them all, or would end them."""

    def write(self, interface: str, steps: Iterable[Step], *, ends: bool = False) -> None:
        """Append segments and punctuation; then the end of the interface, if it `ends`."""
        self.write_all({interface: steps}, ends=ends)

    def write_all(self, steps: Mapping[str, Iterable[Step]], *, ends: bool = False) -> None:
        """Append to several interfaces in one run."""
        self._open |= dict.fromkeys(steps)
        with SpoolWriter(self.root, SpoolSettings(segment_rows=1)) as writer:
            tracks = self._tracks(writer, self._open)
            for interface, its in steps.items():
                self._append(tracks[self._stream, interface], its, ends=ends)
        if ends:
            self._open = {name: None for name in self._open if name not in steps}

    def _append(self, track: TrackWriter, steps: Iterable[Step], *, ends: bool) -> None:
        for rows, base_ns in steps:
            self._sequence += 1
            batch = None if rows is None else self.batch(rows)
            track.write(batch, self.bounds(base_ns), base_ns, self._sequence)
        if ends:
            track.write(None, self.bounds(END), END, self._sequence, is_end=True)

    def batch(self, rows: Rows) -> pa.RecordBatch:
        schema = schema_of(self.columns)
        arrays = [pa.array([row[n] for row in rows], field.type) for n, field in enumerate(schema)]
        return pa.RecordBatch.from_arrays(arrays, schema=schema)

    def open(self, writer: SpoolWriter, interface: str) -> TrackWriter:
        return self._tracks(writer, (interface,))[self._stream, interface]

    def _tracks(
        self, writer: SpoolWriter, interfaces: Iterable[str]
    ) -> dict[tuple[str, str], TrackWriter]:
        description = StreamDescription("low", described(self.columns), schema_of(self.columns))
        query_set = StoredQuerySet(
            {"columns": list(self.columns)}, {"files": []}, {self._stream: description}
        )
        ports = [(self._stream, interface) for interface in interfaces]
        return writer.open(query_set, ports, live=self.live)

    def bounds(self, base_ns: int) -> tuple[int, ...]:
        return tuple(base_ns if name == "time" else NOTHING for name in self.columns)
