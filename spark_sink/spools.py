# SPDX-License-Identifier: Apache-2.0
"""All that a query reads: each interface of its stream in each of its spools, as they appear."""

from __future__ import annotations

import time

from gigastream.spool import Entry, Track, commit_reader, layout
from spark_sink.errors import tell
from spark_sink.offsets import Offsets, Position
from spark_sink.options import EARLIEST, SourceOptions
from spark_sink.reading import Reading
from spark_sink.segment_index import SegmentIndex
from spark_sink.tracks import newest_tracks, track_of

LOOK_PERIOD_S = 0.5
"""Spark asks what is new a hundred times a second; folders are looked through less often."""


class Spools:
    """The readings by key: the interface's name, behind the spool's path if there are several."""

    def __init__(self, options: SourceOptions) -> None:
        self._options = options
        self._readings: dict[str, Reading] = {}
        self._is_frozen = False
        self._look_due_s = 0.0
        self._told: set[str] = set()

    @property
    def indexes(self) -> dict[str, SegmentIndex]:
        """What is known by now."""
        return {key: reading.index for key, reading in self._readings.items()}

    def freeze(self) -> None:
        """What is there now is all there is: for a query that ends when it has read it."""
        self._look_due_s = 0.0
        self.refresh({})
        self._is_frozen = True

    def refresh(self, known: Offsets) -> None:
        """Read on in the manifests, and look for new interfaces beside those `known`.

        A position names its generation, and that one is read to its end, whatever has begun since:
        the segments of another are numbered anew, and may be another query's.
        """
        for key, position in known.items():
            if position.generation and position.generation != self._generation(key):
                self._go_on(key, position.generation)
        if self._is_frozen:
            return
        if time.monotonic() >= self._look_due_s and not self._has_all_expected():
            for path in self._options.paths:
                self._look_for_new(path)
            self._look_due_s = time.monotonic() + LOOK_PERIOD_S
        for reading in self._readings.values():
            reading.refresh()

    def beginning(self) -> dict[str, Position]:
        """Where a query without a checkpoint begins; interfaces that it waits for are named too."""
        positions = dict.fromkeys(self._expected_keys(), Position())
        for key, reading in self._readings.items():
            positions[key] = reading.beginning(self._options.starting_at)
        return positions

    def with_new(self, start: Offsets) -> dict[str, Position]:
        """`start`, checked, with the interfaces that have begun since."""
        positions = dict(start)
        for key, reading in self._readings.items():
            position = positions.get(key, Position())
            if position.generation == 0:
                positions[key] = reading.beginning(EARLIEST)
            else:
                reading.check_reaches(position.segment)
                reading.check_keeps(position.segment)
        return positions

    def between(self, start: Offsets, end: Offsets) -> list[tuple[Reading, list[Entry]]]:
        """The segments of a micro-batch, track by track."""
        if not self._reaches(end):
            # A query that is restarted plans its last micro-batch before it asks what is new.
            self.refresh(end)
        found = []
        for key in sorted(end):
            first, after = start.get(key, Position()).segment, end[key].segment
            if first < after:
                reading = self._remembering(key, first)
                reading.check_reaches(after)
                reading.check_keeps(first)
                found.append((reading, reading.index.between(first, after)))
        return found

    def commit(self, end: Offsets) -> None:
        """What lies below `end` is not asked for again: forget it, and let retention know."""
        for key, position in end.items():
            if key in self._readings:
                self._readings[key].index.forget_below(position.segment)
                if self._options.reader is not None:
                    track = self._readings[key].track
                    commit_reader(track, self._options.reader, position.segment)

    def _remembering(self, key: str, segment: int) -> Reading:
        """A reading that still knows a segment: its manifest is read anew if need be."""
        if self._readings[key].index.forgotten_below > segment:
            self._go_on(key, self._generation(key))
        return self._readings[key]

    def _reaches(self, end: Offsets) -> bool:
        return all(
            key in self._readings and self._readings[key].index.next_segment >= position.segment
            for key, position in end.items()
            if position.generation
        )

    def _look_for_new(self, path: str) -> None:
        """Interfaces on which the same stream has begun; another by its name is not ours."""
        options = self._options
        for track in newest_tracks(path, options.stream, options.interfaces, options.generation):
            key = self.key(path, track.interface)
            if key in self._readings:
                self._tell_of_newer(self._readings[key].track, track)
            elif track.hash == self._hash(path, track):
                self._readings[key] = Reading(path, track)

    def _tell_of_newer(self, ours: Track, newest: Track) -> None:
        if ours.generation < newest.generation and newest.folder not in self._told:
            self._told.add(newest.folder)
            tell(
                f"note: {ours.folder} is read to its end; generation {newest.generation} has "
                "begun, which waits for a query with a checkpoint of its own"
            )

    def _hash(self, path: str, default: Track) -> str:
        hashes = [r.track.hash for r in self._readings.values() if r.path == path]
        return hashes[0] if hashes else default.hash

    def _go_on(self, key: str, generation: int) -> None:
        path, interface = self._place(key)
        stream = self._options.stream
        if stream is None:
            stream = newest_tracks(path, None, None, None)[0].stream
        self._readings[key] = Reading(path, track_of(path, stream, interface, generation))
        self._readings[key].refresh()

    def _generation(self, key: str) -> int:
        return self._readings[key].track.generation if key in self._readings else 0

    def key(self, path: str, interface: str) -> str:
        """What a track's position is called."""
        return interface if len(self._options.paths) == 1 else f"{path}/{layout.quoted(interface)}"

    def _place(self, key: str) -> tuple[str, str]:
        """The path and interface that a key is made of."""
        if len(self._options.paths) == 1:
            return self._options.paths[0], key
        path, component = key.rsplit("/", 1)
        return path, layout.unquoted(component)

    def _expected_keys(self) -> list[str]:
        interfaces = self._options.interfaces or ()
        return [self.key(path, name) for path in self._options.paths for name in interfaces]

    def _has_all_expected(self) -> bool:
        expected = self._expected_keys()
        return bool(expected) and all(key in self._readings for key in expected)
