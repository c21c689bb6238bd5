# SPDX-License-Identifier: Apache-2.0
"""Tracks by name: what a query set writes now, and one generation of one track."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from gigastream.spool import NO_ACCESS, Access, Spool, SpoolAwayError, SpoolReadError, Track, layout
from spark_sink.errors import HostAwayError, SpoolSourceError


@dataclass(frozen=True)
class Chain:
    """The generations of a track that are one stream, the oldest first, as far as they are kept.

    Each goes on in time with that before it; `since` is the first there was.
    """

    path: str
    tracks: tuple[Track, ...]
    since: int

    @property
    def newest(self) -> Track:
        return self.tracks[-1]

    @property
    def numbers(self) -> list[int]:
        """The generations."""
        return [track.generation for track in self.tracks]

    def after(self, generation: int) -> int | None:
        """The generation that goes on with one; None: none does."""
        if generation < self.since:
            return None
        return next((number for number in self.numbers if number > generation), None)


def open_spool(path: str, generation: int | None = None, access: Access = NO_ACCESS) -> Spool:
    """A spool's newest query set, or that of a generation. Raises SourceError."""
    try:
        return Spool(path, generation, access)
    except SpoolAwayError as away:
        raise HostAwayError(str(away), away.hint, exit_code=1) from None
    except SpoolReadError as error:
        raise SpoolSourceError(str(error), error.hint) from None


def newest_tracks(
    spool: Spool, stream: str | None, interfaces: Iterable[str] | None
) -> tuple[Track, ...]:
    """The tracks of one stream. Raises SourceError where none is named and there are several."""
    return spool.tracks(stream or only_stream(spool), interfaces)


def chains(spool: Spool, stream: str | None, interfaces: Iterable[str] | None) -> tuple[Chain, ...]:
    """The same, behind the generations that they go on with."""
    return tuple(
        Chain(spool.path, (*spool.earlier(track), track), spool.since(track))
        for track in newest_tracks(spool, stream, interfaces)
    )


def track_of(
    path: str, stream: str, interface: str, generation: int, access: Access = NO_ACCESS
) -> Track:
    """One generation, whatever has begun since. Raises SourceError if it is not there any more.

    HostAwayError is one where its host does not answer.

    It looks at no other folder: a task opens what the driver has chosen for it.
    """
    try:
        return Spool(path, access=access).track(stream, interface, generation)
    except SpoolAwayError as away:
        raise HostAwayError(str(away), away.hint, exit_code=1) from None
    except (OSError, ValueError, LookupError, SpoolReadError) as error:
        folder = f"{path}/{layout.generation_path(stream, interface, generation)}"
        raise SpoolSourceError(
            f"{folder}, which this query has begun to read, is no longer there: {error}",
            "begin again with a new checkpoint",
            exit_code=1,
        ) from None


def what_is_there(paths: Iterable[str], access: Access = NO_ACCESS) -> str:
    """A hint: the streams of some spools, and their interfaces."""
    names = {
        f"{track.stream} on {track.interface}"
        for path in paths
        for track in Spool(path, access=access).tracks()
    }
    return f"there are: {', '.join(sorted(names))}"


def only_stream(spool: Spool) -> str:
    """The stream of a spool that holds one. Raises SourceError."""
    streams = sorted({track.stream for track in spool.tracks()})
    if len(streams) == 1:
        return streams[0]
    raise SpoolSourceError(
        f"{spool.path} holds {len(streams)} streams, and none is named",
        f'name one with .option("stream", …): {", ".join(streams)}',
    )
