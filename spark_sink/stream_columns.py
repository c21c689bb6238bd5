# SPDX-License-Identifier: Apache-2.0
"""The columns of the stream that a query reads, the same on every track."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any

import pyarrow

from gigastream.opaque import OPAQUE_MAX, opaque_size
from gigastream.spool import SpoolReadError, Track
from spark_sink.errors import SpoolSourceError
from spark_sink.options import SourceOptions
from spark_sink.table_options import MAKE_AGAIN, is_of_table
from spark_sink.tracks import newest_tracks, open_spool, what_is_there

Column = Mapping[str, Any]
"""A column as stream.json describes it."""


def stream_columns(options: SourceOptions) -> list[Column]:
    """Those asked for, in that order, else all. Raises SourceError."""
    tracks = [
        track
        for path in options.paths
        for track in newest_tracks(
            open_spool(path, options.generation, options.access), options.stream, options.interfaces
        )
    ]
    if not tracks:
        raise _not_begun(options)
    for track in tracks:
        _check_names(track)
        _check_same_columns(tracks[0], track)
        _check_sizes(track)
    columns: list[Column] = list(tracks[0].columns)
    return columns if options.columns is None else [_named(columns, n) for n in options.columns]


def check_schema(given: Any, wanted: Any) -> None:
    """Refuse a schema that was given to the reader and is another than the stream's."""
    if _described(given) != _described(wanted):
        raise SpoolSourceError(
            f"the schema that is given, {_described(given)}, is not the stream's, "
            f"{_described(wanted)}",
            MAKE_AGAIN
            if is_of_table(given)
            else 'leave .schema(…) away; .option("columns", "a,b") chooses columns',
        )


def _described(schema: Any) -> str:
    return ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in schema.fields)


def _not_begun(options: SourceOptions) -> SpoolSourceError:
    asked = options.stream or "the stream"
    if options.interfaces is not None:
        asked += f" on {', '.join(options.interfaces)}"
    places = ", ".join(options.paths)
    there = what_is_there(options.paths, options.access)
    return SpoolSourceError(f"{places}: nothing of {asked} is there", there)


def _named(columns: Sequence[Column], name: str) -> Column:
    for column in columns:
        if column["name"].lower() == name.lower():
            return column
    names = [column["name"] for column in columns]
    close = get_close_matches(name, names, n=1)
    hint = f"did you mean {close[0]}?" if close else f"its columns are {', '.join(names)}"
    raise SpoolSourceError(f"the stream has no column {name}", hint)


def _check_names(track: Track) -> None:
    try:
        track.check_names()
    except SpoolReadError as error:
        raise SpoolSourceError(str(error), error.hint) from None


def _check_same_columns(first: Track, other: Track) -> None:
    if _shape(first) != _shape(other):
        raise SpoolSourceError(
            f"{first.stream} has other columns on {other.interface} than on {first.interface}: "
            "different queries have written them"
        )


def _check_sizes(track: Track) -> None:
    """What calls itself fstringN has N bytes: Spark's binary would take any number.

    Segments are held to the track's Arrow schema when they are read.
    """
    for column, field in zip(track.columns, track.schema, strict=False):
        name, said = column["name"], column["type"]
        size = opaque_size(said)
        if size is None:
            continue
        if not 0 < size <= OPAQUE_MAX or field.type != pyarrow.binary(size):
            message = f"{track.stream} has {field.type} in {name}, which is said to be {said}"
            raise SpoolSourceError(message)


def _shape(track: Track) -> list[tuple[str, str]]:
    return [(column["name"], column["type"]) for column in track.columns]
