# SPDX-License-Identifier: Apache-2.0
"""Spools for tests: a stream of two columns, of which the first counts up."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow

from gigastream.spool import (
    END,
    NOTHING,
    Entry,
    Spool,
    SpoolSettings,
    SpoolWriter,
    StoredQuerySet,
    StreamDescription,
    Track,
    TrackWriter,
)

SCHEMA = pyarrow.schema(
    [
        pyarrow.field("n", pyarrow.uint64(), nullable=False),
        pyarrow.field("ip", pyarrow.uint32(), metadata={"gs.type": "ipv4"}),
    ]
)
COLUMNS: list[dict[str, Any]] = [{"name": "n", "type": "ullong"}, {"name": "ip", "type": "IP"}]
PLAN: dict[str, Any] = {"low": ["flows"]}
QUERIES: dict[str, Any] = {"files": [{"name": "q.gsql", "text": "SELECT é"}]}
NEVER_NS = 3600 * 10**9
"""Longer than any test."""
BY_HAND = SpoolSettings(segment_age_ns=NEVER_NS)
"""Segments are cut by rows, bytes and the end alone."""


def rows(first: int, count: int) -> pyarrow.RecordBatch:
    """Return rows that count up from `first`."""
    numbers = range(first, first + count)
    n = pyarrow.array(numbers, pyarrow.uint64())
    ip = pyarrow.array((number % 7 for number in numbers), pyarrow.uint32())
    return pyarrow.record_batch([n, ip], schema=SCHEMA)


def query_set(
    *streams: str,
    plan: Any = None,
    columns: Any = None,
    schema: pyarrow.Schema = SCHEMA,
    queries: Any = None,
) -> StoredQuerySet:
    """Return a query set whose streams, flows alone by default, depend on all of the plan."""
    plan = PLAN if plan is None else plan
    description = StreamDescription(str(plan), columns or COLUMNS, schema)
    named = dict.fromkeys(streams or ("flows",), description)
    return StoredQuerySet(plan, queries or QUERIES, named)


def open_track(
    writer: SpoolWriter, stream: str = "flows", interface: str = "eth0", plan: Any = None
) -> TrackWriter:
    port = stream, interface
    return writer.open(query_set(stream, plan=plan), [port])[port]


def write_run(
    root: Path, *sizes: int, settings: SpoolSettings = BY_HAND, end: bool = False, plan: Any = None
) -> None:
    """Write a run: one segment for each size, counting on from where the last run stopped."""
    with SpoolWriter(root, settings) as writer:
        track = open_track(writer, plan=plan)
        n = max(0, track.resume.base_ns)
        for sequence, size in enumerate(sizes):
            track.write(rows(n, size), (n + size, NOTHING), n + size, sequence)
            track._cut()
            n += size
        if end:
            track.write(None, (END, NOTHING), END, len(sizes), is_end=True)


def write_named(root: Path, *names: str) -> None:
    """Write one segment of three rows whose two columns have these names."""
    schema = pyarrow.schema([field.with_name(n) for field, n in zip(SCHEMA, names, strict=True)])
    columns = [{**column, "name": n} for column, n in zip(COLUMNS, names, strict=True)]
    batch = pyarrow.record_batch(rows(0, 3).columns, schema=schema)
    port = "flows", "eth0"
    with SpoolWriter(root, BY_HAND) as writer:
        track = writer.open(query_set(columns=columns, schema=schema), [port])[port]
        track.write(batch, (3, NOTHING), 3, 0)


class Kept:
    """A track that keeps the entries which it has given."""

    def __init__(self, track: Track) -> None:
        self.track = track
        self.entries: list[Entry] = []

    def poll(self) -> list[Entry]:
        new = self.track.poll()
        self.entries += new
        return new

    def __getattr__(self, name: str) -> Any:
        return getattr(self.track, name)


def only_track(root: Path, generation: int | None = None) -> Kept:
    (track,) = Spool(root, generation).tracks()
    return Kept(track)


def numbers(track: Track | Kept, entry: Entry, check: bool = True) -> list[int]:
    """Return the first column of a segment."""
    return [n for batch in track.read(entry, ["n"], check) for n in batch.column(0).to_pylist()]


def all_numbers(track: Track | Kept) -> list[int]:
    """Return the first column of every segment that is listed by now."""
    if isinstance(track, Track):
        track = Kept(track)
    track.poll()
    return [n for entry in track.entries for n in numbers(track, entry)]


def folder_of(root: Path, generation: int = 1) -> Path:
    return root / "streams" / "flows" / "eth0" / f"{generation:06d}"
