# SPDX-License-Identifier: Apache-2.0
"""Tracks by name: what a query set writes now, and one generation of one track."""

from __future__ import annotations

from collections.abc import Iterable

from gigastream.spool import Spool, SpoolReadError, Track, layout
from spark_sink.errors import SpoolSourceError


def open_spool(path: str, generation: int | None = None) -> Spool:
    """A spool's newest query set, or that of a generation. Raises SourceError."""
    try:
        return Spool(path, generation)
    except SpoolReadError as error:
        raise SpoolSourceError(str(error), error.hint) from None


def newest_tracks(
    path: str, stream: str | None, interfaces: Iterable[str] | None, generation: int | None
) -> tuple[Track, ...]:
    """The tracks of one stream. Raises SourceError where none is named and there are several."""
    spool = open_spool(path, generation)
    return spool.tracks(stream or _only_stream(spool), interfaces)


def track_of(path: str, stream: str, interface: str, generation: int) -> Track:
    """One generation, whatever has begun since. Raises SourceError if it is not there any more.

    It looks at no other folder: a task opens what the driver has chosen for it.
    """
    try:
        return Spool(path).track(stream, interface, generation)
    except (OSError, ValueError, LookupError, SpoolReadError) as error:
        folder = f"{path}/{layout.generation_path(stream, interface, generation)}"
        raise SpoolSourceError(
            f"{folder}, which this query has begun to read, is no longer there: {error}",
            "begin again with a new checkpoint",
            exit_code=1,
        ) from None


def what_is_there(paths: Iterable[str]) -> str:
    """A hint: the streams of some spools, and their interfaces."""
    names = {
        f"{track.stream} on {track.interface}" for path in paths for track in Spool(path).tracks()
    }
    return f"there are: {', '.join(sorted(names))}"


def _only_stream(spool: Spool) -> str:
    streams = sorted({track.stream for track in spool.tracks()})
    if len(streams) == 1:
        return streams[0]
    raise SpoolSourceError(
        f"{spool.path} holds {len(streams)} streams, and none is named",
        f'name one with .option("stream", …): {", ".join(streams)}',
    )
