# SPDX-License-Identifier: Apache-2.0
"""gigastream spool cat: the rows of a stream as they lie there, in the output formats."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from gigastream.cli.errors import UsageError, complain
from gigastream.cli.query_of_columns import query_of_columns
from gigastream.cli.spool_lists import chosen, open_spool
from gigastream.outputs import RowOutput, default_format, parse_output

if TYPE_CHECKING:
    from gigastream.gsql.types import Schema, Type
    from gigastream.spool import Entry, Spool, Track

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_EXAMPLES = "a segment's number, or 2026-11-25T13:00:00Z"


def print_rows(arguments: argparse.Namespace) -> int:
    """Write the rows of one stream; 1 where some of them cannot be read, or be written."""
    limits = _limit(arguments.begin, "--from"), _limit(arguments.end, "--to")
    if len(arguments.spools) > 1:
        raise UsageError("cat takes one spool", "one command for each")
    spool = open_spool(arguments.spools[0], arguments)
    tracks = _of_one_stream(spool, arguments)
    schema = _schema_of(tracks[-1])
    output = RowOutput(*_wanted(arguments), (query_of_columns(tracks[-1].stream, schema),))
    output.begin()
    damage = _write(output, tracks, schema, limits)
    output.close()
    failures = [failure.message for failure in output.failures]
    for text in dict.fromkeys([*spool.damage, *damage, *failures]):
        complain(text)
    return 1 if spool.damage or damage or failures else 0


def _wanted(arguments: argparse.Namespace) -> tuple[str, Any]:
    if arguments.output is not None:
        return parse_output(arguments.output)
    if sys.stdout is None:
        raise UsageError("stdout is closed: the rows have no place", "-o FORMAT:PATH")
    return default_format(sys.stdout.isatty()), None


def _of_one_stream(spool: Spool, arguments: argparse.Namespace) -> list[Track]:
    """Return the generations to read, the newest of each interface last. UsageError for several."""
    found = chosen(spool, arguments)
    streams = sorted({track.stream for track in found})
    if not streams:
        raise UsageError(f"{spool.path} has no stream", "nothing was written yet")
    if len(streams) > 1:
        raise UsageError(
            f"{spool.path} has several streams", f"--stream NAME: {', '.join(streams)}"
        )
    if arguments.generation is not None:
        found = [track for track in found if track.generation == arguments.generation]
        if not found:
            raise UsageError(f"{streams[0]} has no generation {arguments.generation}", "spool ls")
    # A generation of other columns is another stream by the same name.
    newest = max(found, key=lambda track: track.generation)
    return [track for track in found if track.schema == newest.schema and track is not newest] + [
        newest
    ]


# ---- from and to ----


def _limit(text: str | None, option: str) -> tuple[str, int] | None:
    """Return ("segment", number) or ("time", nanoseconds)."""
    if text is None:
        return None
    if text.isascii() and text.isdigit() and len(text) <= 18:
        return "segment", int(text)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise UsageError(f"{option} {text} is no segment and no time", _EXAMPLES) from None
    moment = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    return "time", (moment - _EPOCH) // timedelta(microseconds=1) * 1000


Limits = tuple[tuple[str, int] | None, tuple[str, int] | None]


def _is_within(entry: Entry, limits: Limits) -> bool:
    begin, end = limits
    values = {"segment": entry.segment or 0, "time": entry.made_ns}
    return (begin is None or values[begin[0]] >= begin[1]) and (
        end is None or values[end[0]] < end[1]
    )


# ---- rows ----


def _write(output: RowOutput, tracks: Sequence[Track], schema: Schema, limits: Limits) -> list[str]:
    """Write the rows, and return what of them cannot be read."""
    from gigastream.engine.batch import NativeBatch

    lost: list[str] = []
    for track in tracks:
        for batch in _batches(track, limits, lost):
            if output.reader_has_left:
                raise BrokenPipeError
            if batch.num_rows:
                output.write(track.stream, NativeBatch.from_arrow(batch, schema))
        lost += [*track.damage, *([track.away] if track.away else [])]
    return lost


def _batches(track: Track, limits: Limits, lost: list[str]) -> Iterator[Any]:
    """Yield what can be read; of a segment that cannot, what is wrong comes into `lost`."""
    from gigastream.spool import SegmentDamage

    first = track.retained().first
    for entry in track.poll():
        if entry.is_segment and (entry.segment or 0) >= first and _is_within(entry, limits):
            try:
                yield from track.read(entry)
            except SegmentDamage as error:
                if not error.is_retired:
                    lost.append(str(error))


def _schema_of(track: Track) -> Schema:
    """Return the columns as the engine knows them. Raises SpoolReadError where they are none."""
    from gigastream.arrow_schema import arrow_schema
    from gigastream.gsql.types import Column, Schema
    from gigastream.spool import SpoolReadError

    track.check_names()
    try:
        schema = Schema(
            tuple(
                Column(
                    str(each["name"]),
                    _type(str(each.get("type"))),
                    nullable=track.schema.field(index).nullable,
                    subtype=str(each.get("subtype", "")),
                )
                for index, each in enumerate(track.columns)
            )
        )
        fits = arrow_schema(schema).equals(track.schema, check_metadata=True)
    except (ValueError, KeyError) as error:
        raise SpoolReadError(f"{track.stream} has a column of no known type: {error}") from None
    if not fits:
        raise SpoolReadError(f"the columns of {track.stream} are not those of its rows")
    return schema


def _type(name: str) -> Type:
    """Return the type that prints as a name. Raises ValueError."""
    from gigastream.gsql.types import Type

    size = name.removeprefix("fstring")
    if size != name and size.isascii() and size.isdigit() and len(size) < 9:
        return Type.opaque(int(size))
    for each in Type:
        if str(each) == name:
            return each
    raise ValueError(name[:80])
