# SPDX-License-Identifier: Apache-2.0
"""What the Parquet files must hold: the rows that the engine makes of what the manifests list."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from gigastream.engine.events import Event
from gigastream.sessions.high_session import HighSession
from gigastream.spool import NOTHING, Spool, Track
from gigastream.spool.plan import plan_of_spools, queries_from_json

Row = tuple[Any, ...]
Rows = dict[str, Counter[Row]]
"""By query, each row and how often it is there."""


class DamageError(Exception):
    """A spool in which something cannot be read: kill -9 does no such thing."""


def expected_rows(path: Path) -> Rows:
    """The answer over a spool whose streams have ended."""
    spool = Spool(path)
    plan = plan_of_spools([spool])
    rows: Rows = defaultdict(Counter)
    with HighSession(plan, tuple(queries_from_json(spool.queries()).interfaces)) as session:
        for track in spool.tracks():
            _push(session, track)
        for event in session.batches():
            _take(event, rows)
    return dict(rows)


def _push(session: HighSession, track: Track) -> None:
    bounds = (NOTHING,) * len(track.schema)
    for entry in track.poll():
        for batch in track.read(entry):
            session.push(track.stream, track.interface, batch, bounds)
        bounds = tuple(map(max, bounds, entry.bounds))
        is_end = entry.kind == "end"
        session.push(track.stream, track.interface, None, bounds, is_end=is_end)
    if track.damage or not track.is_ended:
        raise DamageError(f"{track.folder}: {track.damage or 'it has no end'}")


def _take(event: Event, rows: Rows) -> None:
    rows[event.query].update(plain_rows(pa.Table.from_batches([event.batch.to_arrow()])))


def plain_rows(table: pa.Table) -> Iterator[Row]:
    """Rows in the same Python values, from the engine or from Parquet."""
    return zip(*(_plain(column) for column in table.columns), strict=True)


def _plain(column: pa.ChunkedArray) -> list[Any]:
    """Times in whole microseconds, addresses as text."""
    if pa.types.is_timestamp(column.type):
        utc_us = pa.timestamp("us", "UTC")
        return list(pc.cast(column.cast(utc_us, safe=False), pa.int64()).to_pylist())
    if pa.types.is_fixed_size_binary(column.type):
        return [v and str(IPv4Address(v[-4:])) for v in column.to_pylist()]
    return [v if v is None or isinstance(v, str) else int(v) for v in column.to_pylist()]
