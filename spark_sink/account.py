# SPDX-License-Identifier: Apache-2.0
"""The account of a query over spools: what was put into each track, and what became of it.

    put = gone + skipped + unread + damaged + read + waiting

of all runs of a checkpoint. Each term is counted where it comes about: `put` by the writer, `gone`
and `skipped` when a generation is begun with, `damaged` by the task that meets it, `unread` and the
position up to which segments are read by the micro-batches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field

from gigastream.plan.operators.low_node import LowNode
from gigastream.plan.plan import Plan
from gigastream.spool import Passed, SpoolAwayError
from spark_sink.damage_log import damaged_segments
from spark_sink.errors import tell
from spark_sink.offsets import Offsets, Position
from spark_sink.options import SourceOptions
from spark_sink.reading import Reading
from spark_sink.spools import Spools

TERMS = ("gone", "skipped", "unread", "damaged", "read", "waiting")


@dataclass(frozen=True, slots=True)
class Reached:
    """How far a query is done with a stream."""

    offsets: Offsets
    unread: Mapping[str, int] = field(default_factory=dict)
    """By track, rows of segments that no window needed: all of them were late."""


@dataclass(frozen=True, slots=True)
class TrackAccount:
    """Rows of a track, over all generations that go on with each other and are kept."""

    query: str
    stream: str
    spool: str
    interface: str
    put: int = 0
    gone: int = 0
    """Deleted by retention before the query began."""
    skipped: int = 0
    """Before the point with which the query began."""
    unread: int = 0
    """Of segments that no window needed, since all of their rows were late."""
    damaged: int = 0
    read: int = 0
    waiting: int = 0
    """Not read yet, or of windows that are open."""

    @property
    def adds_up(self) -> bool:
        return self.put == sum(self.terms.values())

    @property
    def terms(self) -> dict[str, int]:
        """By name, what `put` is the sum of."""
        return {name: getattr(self, name) for name in TERMS}

    def as_json(self) -> dict[str, object]:
        """Return it as plain data."""
        return asdict(self)


def query_accounts(
    query: str,
    plan: Plan,
    options: Callable[[LowNode], SourceOptions],
    reached: Mapping[str, Reached],
) -> Iterator[TrackAccount]:
    """Yield those of all streams that a query reads, once it has ended; errors as for one."""
    for stream in plan.low:
        if stream.name in reached:
            yield from accounts(query, options(stream), reached[stream.name])


def accounts(query: str, options: SourceOptions, reached: Reached) -> Iterator[TrackAccount]:
    """Yield those of a stream's tracks, from what the spools say by now.

    Raises SourceError, and OSError where the damage that was met cannot be read.
    """
    spools = Spools(options)
    spools.refresh(reached.offsets)
    chains = spools.chains()
    for key, position in reached.offsets.items():
        if position.generation and key not in chains:
            tell(f"{key} does not answer: the account is without it")
    for key, (spool, readings) in chains.items():
        position = reached.offsets.get(key, Position())
        terms = dict.fromkeys(("put", *TERMS), 0)
        for reading in readings:
            for name, count in _terms(options, spool, reading, position).items():
                terms[name] += count
        unread = reached.unread.get(key, 0)
        terms["unread"], terms["read"] = unread, terms["read"] - unread
        newest = readings[-1]
        yield TrackAccount(query, newest.track.stream, newest.path, newest.track.interface, **terms)


def _terms(
    options: SourceOptions, spool: str, reading: Reading, position: Position
) -> dict[str, int]:
    """Those of a generation; what stands before the one that was begun with was not wanted."""
    index, put = reading.index, reading.index.rows + reading.index.missed_rows
    passed = _said(options, reading)
    is_behind = reading.track.generation > position.generation
    is_last = reading.track.generation == position.generation
    if is_behind or (passed is None and not is_last and options.reader is not None):
        return {"put": put, "waiting" if is_behind else "skipped": put}
    done = index.rows_before(position.segment) if is_last else index.rows
    found = _damaged(options, spool, reading, position.segment if is_last else None)
    gone, skipped = (passed.gone, passed.skipped) if passed else _begun(reading)
    return {
        "put": put,
        "gone": gone,
        "skipped": skipped,
        "damaged": found + index.missed_rows,
        "read": done - gone - skipped - found,
        "waiting": index.rows - done,
    }


def _said(options: SourceOptions, reading: Reading) -> Passed | None:
    with suppress(SpoolAwayError):
        return None if options.reader is None else reading.track.passed(options.reader)
    return None


def _begun(reading: Reading) -> tuple[int, int]:
    """Of a spool that cannot be written to nobody knows where it was begun with."""
    passed = reading.passed(reading.track.retained().first)
    return passed.gone, passed.skipped


def _damaged(options: SourceOptions, spool: str, reading: Reading, below: int | None) -> int:
    if options.damage_log is None:
        return 0
    found = damaged_segments(options.damage_log, spool, reading.track)
    return sum(rows for segment, rows in found.items() if below is None or segment < below)
