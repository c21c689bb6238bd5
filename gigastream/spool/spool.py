# SPDX-License-Identifier: Apache-2.0
"""A spool that is read: its tracks, and what its queries were."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow

from gigastream.spool import layout
from gigastream.spool.errors import SpoolReadError
from gigastream.spool.generation import decode_schema
from gigastream.spool.place import Place, open_place
from gigastream.spool.track import Track

_DESCRIPTION: dict[str, type] = {
    "stream": str,
    "interface": str,
    "generation": int,
    "query_set": str,
    "columns": list,
    "arrow_schema": str,
    "made_ns": int,
}


class Spool:
    """A spool at a path or URI, its writer at work or not.

    `generation` names one of each track instead of the newest. `damage` names the generations
    that cannot be read. Raises SpoolReadError where nothing is a spool.
    """

    def __init__(self, path: str | os.PathLike[str], generation: int | None = None) -> None:
        self.path = os.fspath(path)
        self.damage: list[str] = []
        self._place = open_place(path)
        self._generation = generation
        self._newest = self._newest_track()

    @property
    def query_set(self) -> str:
        """The hash of the query set that was begun last."""
        return self._newest.query_set

    def plan(self) -> dict[str, Any]:
        """Return the plan of the query set. Raises SpoolReadError."""
        return self._object(layout.PLAN)

    def queries(self) -> dict[str, Any]:
        """Return what remakes the plan. Raises SpoolReadError."""
        return self._object(layout.QUERIES)

    def tracks(
        self, stream: str | None = None, interfaces: Iterable[str] | None = None
    ) -> tuple[Track, ...]:
        """Return the tracks of the query set, by stream, then interface; looked for anew each time.

        A track that an older query set has written is left out, and so is what cannot be read.
        Raises SpoolReadError.
        """
        wanted = None if interfaces is None else set(interfaces)
        return tuple(
            track
            for track in self._all_tracks()
            if track.query_set == self.query_set
            and stream in (None, track.stream)
            and (wanted is None or track.interface in wanted)
        )

    def _newest_track(self) -> Track:
        newest = max(self._all_tracks(), key=lambda track: track.made_ns, default=None)
        if newest is None:
            hint = "a run with `-o spool:PATH` writes one"
            raise SpoolReadError("; ".join([f"{self.path} is no spool", *self.damage]), hint)
        return newest

    def _all_tracks(self) -> Iterator[Track]:
        root = self._place.root
        for stream in self._names(root):
            for interface in self._names(f"{root}/{stream}"):
                yield from self._track(f"{root}/{stream}/{interface}")

    def _track(self, folder: str) -> Iterator[Track]:
        """Yield the newest generation that can be read, or the one that was asked for."""
        numbers = [layout.generation_of(name) for name in self._names(folder)]
        known = sorted((number for number in numbers if number is not None), reverse=True)
        for number in known:
            if self._generation in (None, number):
                track = self._generation_track(f"{folder}/{layout.generation_name(number)}")
                if track is not None:
                    yield track
                    return

    def _generation_track(self, folder: str) -> Track | None:
        try:
            return _open_track(self._place, folder)
        except (OSError, ValueError, pyarrow.ArrowException) as error:
            text = f"{folder} cannot be read: {layout.STREAM}: {error}"
            if text not in self.damage:
                self.damage.append(text)
            return None

    def _names(self, folder: str) -> list[str]:
        try:
            return self._place.names(folder)
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            raise SpoolReadError(f"cannot read {folder}: {error}") from None

    def _object(self, name: str) -> dict[str, Any]:
        path = f"{self._newest.folder}/{name}"
        try:
            return self._place.read_object(path)
        except (OSError, ValueError) as error:
            raise SpoolReadError(f"cannot read {path}: {error}") from None


def _open_track(place: Place, folder: str) -> Track:
    """Return the track of a generation's folder. Raises OSError, ValueError."""
    value = place.read_object(f"{folder}/{layout.STREAM}")
    if value.get("format") != layout.FORMAT:
        raise ValueError(f"format {value.get('format')!r}, want {layout.FORMAT}")
    for name, kind in _DESCRIPTION.items():
        if not isinstance(value.get(name), kind):
            raise ValueError(f"no {name}")
    return Track(place, folder, value, decode_schema(value["arrow_schema"]))
