# SPDX-License-Identifier: Apache-2.0
"""A track as a reader sees it: what is listed so far, and the rows of it."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow

from gigastream.spool import layout
from gigastream.spool.entry import Entry, Lost
from gigastream.spool.errors import SegmentDamage, SpoolReadError
from gigastream.spool.manifest import ManifestReader
from gigastream.spool.place import Place
from gigastream.spool.retention import Retained, decode_retained
from gigastream.spool.segment_reader import damage, read_segment


class Track:
    """One generation of one stream of one interface; made by `Spool.tracks`.

    `entries` is what `poll` has seen so far, `damage` what of it could not be read, in words.
    """

    def __init__(
        self, place: Place, folder: str, description: dict[str, Any], schema: pyarrow.Schema
    ) -> None:
        self.stream: str = description["stream"]
        self.interface: str = description["interface"]
        self.generation: int = description["generation"]
        self.query_set: str = description["query_set"]
        self.made_ns: int = description["made_ns"]
        self.columns: list[dict[str, Any]] = description["columns"]
        self.schema = schema
        self.folder = folder
        self.entries: list[Entry] = []
        self._place = place
        self._manifest = ManifestReader()
        self._damage: list[str] = []
        self._last_segment = -1

    @property
    def damage(self) -> list[str]:
        """What could not be read so far: a sentence for each line and segment."""
        return [f"{self.folder}: {text}" for text in (*self._damage, *self._manifest.damage)]

    @property
    def lost(self) -> list[Lost]:
        """What the runs of this generation have told of losses of those before them."""
        return [entry.lost for entry in self.entries if entry.lost]

    @property
    def is_ended(self) -> bool:
        """Whether an end is listed: nothing follows in this generation."""
        return any(entry.kind == "end" for entry in self.entries)

    def poll(self) -> list[Entry]:
        """Return the entries that have been listed since the last call."""
        path = f"{self.folder}/{layout.MANIFEST}"
        try:
            size_bytes = self._place.size_bytes(path)
            if size_bytes < self._manifest.offset:
                self._tell("the manifest has become shorter than what was read of it")
            if size_bytes <= self._manifest.offset:
                return []
            found = list(self._manifest.poll(lambda at, size: self._place.read_at(path, at, size)))
        except FileNotFoundError:
            self._tell("the manifest is missing")
            return []
        except OSError as error:
            self._tell(f"the manifest cannot be read: {error}")
            return []
        new = [entry for entry in found if self._is_sound(entry)]
        self.entries += new
        return new

    def retained(self) -> Retained:
        """Return what retention has deleted by now; `first` is the first segment kept."""
        path = f"{self.folder}/{layout.RETAINED}"
        try:
            return decode_retained(self._place.read_at(path, 0, 1 << 12))
        except FileNotFoundError:
            return Retained()
        except (OSError, ValueError) as error:
            self._tell(f"`{layout.RETAINED}` cannot be read: {error}")
            return Retained()

    def read(
        self, entry: Entry, columns: Sequence[str] | None = None, check: bool = True
    ) -> Iterator[pyarrow.RecordBatch]:
        """Yield the batches of a segment; of other entries none.

        `columns` are those wanted, in this order, None for all; others are not read from the disk.
        `check` compares the file's CRC-32 first. Raises SegmentDamage, before or between batches;
        ValueError for a column that the track lacks.
        """
        if entry.segment is None:
            return
        path = f"{self.folder}/{layout.segment_name(entry.segment)}"
        try:
            yield from read_segment(self._place.mapped, path, entry, self.schema, columns, check)
        except SegmentDamage as error:
            if entry.segment < self.retained().first:
                text = "retention has deleted it"
                raise damage(path, entry, text, is_retired=True) from None
            self._tell(str(error))
            raise

    def commit(self, reader: str, segment: int) -> None:
        """Tell the writer that a reader is done with the segments below `segment`.

        Raises SpoolReadError where the spool cannot be written.
        """
        path = f"{self.folder}/{layout.READERS}/{layout.quoted(reader)}.json"
        value = {"reader": reader, "segment": segment, "made_ns": time.time_ns()}
        try:
            self._place.replace(path, json.dumps(value).encode())
        except OSError as error:
            raise SpoolReadError(f"cannot commit to {path}: {error}") from None

    def _is_sound(self, entry: Entry) -> bool:
        """Whether a line fits this track, and follows from those before it."""
        if len(entry.bounds) != len(self.schema):
            self._tell(f"a line with {len(entry.bounds)} bounds for {len(self.schema)} columns")
            return False
        if entry.segment is not None and entry.segment <= self._last_segment:
            self._tell(f"segment {entry.segment} is listed behind {self._last_segment}")
            return False
        if entry.segment is not None:
            self._last_segment = entry.segment
        return True

    def _tell(self, text: str) -> None:
        if text not in self._damage:
            self._damage.append(text)


def commit_reader(track: Track, reader: str, segment: int) -> None:
    """Tell the writer that a reader is done with a track's segments below `segment`."""
    track.commit(reader, segment)
