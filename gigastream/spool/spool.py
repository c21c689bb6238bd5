# SPDX-License-Identifier: Apache-2.0
"""A spool that is read: its tracks, and what its queries were."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow

from gigastream.spool import layout
from gigastream.spool.access import NO_ACCESS, Access
from gigastream.spool.errors import SpoolReadError, printable
from gigastream.spool.generation import parse_generation
from gigastream.spool.index import Index, parse_index
from gigastream.spool.opened_place import open_place
from gigastream.spool.query_set import check_descriptions, check_names, decode_schema
from gigastream.spool.track import InterfaceProgress, Track, reason_of

_UNREADABLE = (OSError, ValueError, pyarrow.ArrowException)
_NEVER_NS = 1 << 63


class Spool:
    """A spool at a path or URI, its writer at work or not.

    `generation` names one of each track instead of the newest; `access` opens another host's.
    `damage` names what cannot be read. Raises SpoolReadError where nothing is a spool, and, in all
    that asks the place, SpoolAwayError where the host that serves it does not answer.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        generation: int | None = None,
        access: Access = NO_ACCESS,
    ) -> None:
        self.path = os.fspath(path)
        self.damage: list[str] = []
        self._place = open_place(path, access)
        self._generation = generation
        self._sets: dict[int, dict[str, Any]] = {}
        self._schemas: dict[tuple[int, str], pyarrow.Schema] = {}
        self._progress: dict[str, InterfaceProgress] = {}
        self._set = self._newest_set()

    @property
    def query_set(self) -> str:
        """The hash of the query set that was begun last."""
        return str(self._descriptions(self._set)["query_set"])

    @property
    def identity(self) -> str | None:
        """What tells it from other spools wherever it lies; None where no run has said it."""
        try:
            return self._index().identity
        except _UNREADABLE:
            return None

    def has_writer(self) -> bool | None:
        """Return whether a run writes it now; None where that cannot be told."""
        return self._place.is_held()

    def stream_hashes(self) -> dict[str, str]:
        """Return the hashes of the query set's streams, by name."""
        streams = self._descriptions(self._set)["streams"]
        return {name: str(description["hash"]) for name, description in streams.items()}

    def check_names(self, stream: str) -> None:
        """Raise SpoolReadError where columns of a stream of the query set cannot be told apart."""
        description = self._descriptions(self._set)["streams"].get(stream)
        if description is not None:
            check_names(self.path, stream, (each["name"] for each in description["columns"]))

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

        What cannot be read is left out, and named. Raises SpoolReadError.
        """
        wanted = None if interfaces is None else set(interfaces)
        return tuple(
            track
            for track in self._found(stream)
            if stream in (None, track.stream) and (wanted is None or track.interface in wanted)
        )

    def kept(self) -> tuple[Track, ...]:
        """Return the tracks of the query set, and all else that has a folder, whichever set's.

        By stream, interface and generation. What cannot be read is left out, and named.
        """
        found = {(each.stream, each.interface, each.generation): each for each in self.tracks()}
        root = f"{self._place.root}/{layout.STREAMS}"
        for stream in self._names(root):
            for interface in self._names(f"{root}/{stream}"):
                port = layout.unquoted(stream), layout.unquoted(interface)
                for number in self._numbers(*port):
                    track = None if (*port, number) in found else self._kept(*port, number)
                    if track is not None:
                        found[*port, number] = track
        return tuple(found[key] for key in sorted(found))

    def earlier(self, track: Track) -> tuple[Track, ...]:
        """Return the generations with which a track's goes on in time, the oldest first.

        Those that are kept: a silent one has no folder. What cannot be read is left out, and named.
        """
        first, port = self.since(track), (track.stream, track.interface)
        numbers = [number for number in self._numbers(*port) if first <= number < track.generation]
        found = (self._kept(*port, number) for number in reversed(numbers))
        return tuple(each for each in found if each is not None and each.hash == track.hash)

    def since(self, track: Track) -> int:
        """Return the first of the generations with which a track's goes on, kept or not."""
        try:
            index = self._index()
        except _UNREADABLE:
            return track.generation
        port = track.stream, track.interface
        is_newest = self._generation is None and index.generations.get(port) == track.generation
        return index.since.get(port, track.generation) if is_newest else track.generation

    def made_since(self, wall_ns: int) -> list[int]:
        """Return the generations whose first folder was made then or later (ns), ascending."""
        root, made = f"{self._place.root}/{layout.STREAMS}", dict[int, int]()
        for stream in self._names(root):
            for interface in self._names(f"{root}/{stream}"):
                track = f"{root}/{stream}/{interface}"
                for number in filter(None, map(layout.number_of, self._names(track))):
                    folder = f"{track}/{layout.number_name(number)}"
                    made[number] = min(made.get(number, _NEVER_NS), self._made_ns(folder))
        return sorted(number for number, at_ns in made.items() if wall_ns <= at_ns < _NEVER_NS)

    def _made_ns(self, folder: str) -> int:
        try:
            found = self._place.read_object(f"{folder}/{layout.GENERATION}").get("made_ns")
        except _UNREADABLE as error:
            self._tell(folder, error)
            return _NEVER_NS
        return found if type(found) is int else _NEVER_NS

    def stamp(self) -> tuple[int, ...] | None:
        """Return what changes when a run begins; None where that cannot be told."""
        path = f"{self._place.root}/{layout.SPOOL}"
        try:
            return self._place.signature(path) or (self._index().made_ns,)
        except _UNREADABLE:
            return None

    def _kept(self, stream: str, interface: str, number: int) -> Track | None:
        try:
            return self._generation_track(stream, interface, number)
        except _UNREADABLE as error:
            folder = layout.generation_path(stream, interface, number)
            self._tell(f"{self._place.root}/{folder}", error)
            return None

    def track(self, stream: str, interface: str, generation: int) -> Track:
        """Return one generation of one track. Raises OSError, ValueError, ArrowException.

        It looks at no other folder, where that generation is or has been the newest.
        """
        try:
            index = self._index()
        except _UNREADABLE:
            index = None
        if index is not None and index.generations.get((stream, interface)) == generation:
            try:
                return self._made(stream, interface, generation, index.set_number)
            except _UNREADABLE:  # then by what stands beside its segments
                pass
        return self._generation_track(stream, interface, generation)

    # ---- what there is ----

    def _index(self) -> Index:
        return parse_index(self._place.read_object(f"{self._place.root}/{layout.SPOOL}"))

    def _newest_set(self) -> int:
        """Return the number of the set whose plan this is."""
        if self._generation is None:
            try:
                index = self._index()
                self._descriptions(index.set_number)
                return index.set_number
            except FileNotFoundError:
                pass
            except _UNREADABLE as error:
                self._tell(f"{self._place.root}/{layout.SPOOL}", error)
        sets = {set_number for *_, set_number in self._listed()}
        for number in sorted(sets, reverse=True):
            if self._is_readable(number):
                return number
        raise self._no_spool()

    def _no_spool(self) -> SpoolReadError:
        if self._is_of_first_format():
            return SpoolReadError(
                f"{self.path} is a spool of format 1, which an earlier version wrote",
                "read it with that version, or write it again",
            )
        there = self.generations() if self._generation is not None else []
        if there and self._generation not in there:
            message = f"{self.path} has no generation {self._generation}"
            return SpoolReadError(message, f"there are: {', '.join(map(str, there))}")
        hint = "a run with `-o spool:PATH` writes one"
        return SpoolReadError("; ".join([f"{self.path} is no spool", *self.damage]), hint)

    def generations(self) -> list[int]:
        """Return those that have a folder, of whichever track, ascending."""
        root = f"{self._place.root}/{layout.STREAMS}"
        return sorted(
            {
                number
                for stream in self._names(root)
                for interface in self._names(f"{root}/{stream}")
                for number in self._numbers(layout.unquoted(stream), layout.unquoted(interface))
            }
        )

    def _is_of_first_format(self) -> bool:
        folder = self._place.root
        for _ in range(3):
            names = self._names(folder)
            if not names:
                return False
            folder = f"{folder}/{names[0]}"
        return layout.FIRST_FORMAT_STREAM in self._names(folder)

    def _found(self, stream: str | None) -> Iterator[Track]:
        if self._generation is None:
            try:
                index = self._index()
            except FileNotFoundError:
                yield from self._beside_segments()
                return
            except _UNREADABLE as error:
                self._tell(f"{self._place.root}/{layout.SPOOL}", error)
                yield from self._beside_segments()
                return
            yield from self._of_index(index, stream)
        else:
            yield from self._beside_segments()

    def _of_index(self, index: Index, stream: str | None) -> Iterator[Track]:
        for (name, interface), generation in sorted(index.generations.items()):
            if stream in (None, name):
                try:
                    yield self._made(name, interface, generation, index.set_number)
                except _UNREADABLE as error:
                    self._tell(self._set_path(index.set_number), error)
                    yield from self._older(name, interface)

    def _older(self, stream: str, interface: str) -> Iterator[Track]:
        """Yield the newest generation of a track that can be read, by what stands beside it."""
        for number in self._numbers(stream, interface):
            found = None
            if self._generation in (None, number):
                found = self._kept(stream, interface, number)
            if found is not None:
                yield found
                return

    def _beside_segments(self) -> Iterator[Track]:
        root = f"{self._place.root}/{layout.STREAMS}"
        for stream in self._names(root):
            for interface in self._names(f"{root}/{stream}"):
                yield from self._older(layout.unquoted(stream), layout.unquoted(interface))

    def _listed(self) -> Iterator[tuple[str, str, int, int]]:
        """Yield (stream, interface, generation, set) of what has segments, or had."""
        root = f"{self._place.root}/{layout.STREAMS}"
        for stream in self._names(root):
            for interface in self._names(f"{root}/{stream}"):
                for number in self._numbers(layout.unquoted(stream), layout.unquoted(interface)):
                    if self._generation in (None, number):
                        path = f"{root}/{stream}/{interface}/{layout.number_name(number)}"
                        try:
                            found = self._read_generation(path)
                        except _UNREADABLE as error:
                            self._tell(path, error)
                        else:
                            yield found.stream, found.interface, number, found.set_number

    def _numbers(self, stream: str, interface: str) -> list[int]:
        """Return the generations that have a folder, the newest first."""
        names = self._names(f"{self._place.root}/{layout.track_path(stream, interface)}")
        numbers = (layout.number_of(name) for name in names)
        return sorted((number for number in numbers if number is not None), reverse=True)

    # ---- what is read of it ----

    def _read_generation(self, folder: str) -> Any:
        return parse_generation(self._place.read_object(f"{folder}/{layout.GENERATION}"))

    def _generation_track(self, stream: str, interface: str, number: int) -> Track:
        folder = f"{self._place.root}/{layout.generation_path(stream, interface, number)}"
        found = self._read_generation(folder)
        return self._made(stream, interface, number, found.set_number)

    def _made(self, stream: str, interface: str, generation: int, set_number: int) -> Track:
        description = self._descriptions(set_number)["streams"].get(stream)
        if description is None:
            raise ValueError(f"it does not describe {stream}")
        known = set_number, stream
        if known not in self._schemas:
            schema = decode_schema(description["arrow_schema"])
            if schema.names != [column["name"] for column in description["columns"]]:
                raise ValueError(f"{stream} has other columns in its schema")
            self._schemas[known] = schema
        if interface not in self._progress:
            self._progress[interface] = InterfaceProgress(self._place, interface)
        return Track(
            self._place,
            (stream, interface, generation),
            description,
            self._schemas[known],
            self._progress[interface],
        )

    def _descriptions(self, set_number: int) -> dict[str, Any]:
        if set_number not in self._sets:
            value = self._place.read_object(self._set_path(set_number))
            check_descriptions(value)
            self._sets[set_number] = value
        return self._sets[set_number]

    def _is_readable(self, set_number: int) -> bool:
        try:
            self._descriptions(set_number)
        except _UNREADABLE as error:
            self._tell(self._set_path(set_number), error)
            return False
        return True

    def _set_path(self, number: int, name: str = layout.DESCRIPTIONS) -> str:
        return f"{self._place.root}/{layout.SETS}/{layout.number_name(number)}/{name}"

    def _names(self, folder: str) -> list[str]:
        try:
            return self._place.names(folder)
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            raise SpoolReadError(f"cannot read {folder}: {reason_of(error)}") from None

    def _object(self, name: str) -> dict[str, Any]:
        path = self._set_path(self._set, name)
        try:
            return self._place.read_object(path)
        except (OSError, ValueError) as error:
            raise SpoolReadError(f"cannot read {path}: {reason_of(error)}") from None

    def _tell(self, path: str, error: Exception) -> None:
        text = printable(f"{path} cannot be read: {reason_of(error)}")
        if text not in self.damage:
            self.damage.append(text)
