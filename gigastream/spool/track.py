# SPDX-License-Identifier: Apache-2.0
"""A track as a reader sees it: what is listed so far, and the rows of it."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import suppress
from typing import Any

import pyarrow

from gigastream.spool import layout
from gigastream.spool.commits import Passed, committed_segment
from gigastream.spool.entry import NOTHING, Entry, Lost, TrackProgress
from gigastream.spool.errors import SegmentDamage, SpoolAwayError, SpoolReadError, printable
from gigastream.spool.manifest import ROLL_BYTES, ManifestReader
from gigastream.spool.place import NoFileError, Place
from gigastream.spool.progress import MAX_BYTES, TrackKey, TrackState, decode
from gigastream.spool.query_set import check_names
from gigastream.spool.retention import MAX_RETAINED_BYTES, Retained, decode_retained
from gigastream.spool.segment_reader import damage, read_segment

MAX_SERVED_ENTRIES = 1 << 20
"""Lines of a server's manifest that are taken at once: a segment a second for twelve days."""
MAX_SERVED_DAMAGE = 1000
"""Sentences about a server's track, and then it is not read any more."""


class InterfaceProgress:
    """How far an interface's tracks have come, read again when its file is replaced."""

    def __init__(self, place: Place, interface: str) -> None:
        self.path = f"{place.root}/{layout.progress_path(interface)}"
        self.damage: str | None = None
        """Why nothing is known, if the file is not as it should be."""
        self._place = place
        self._signature: tuple[int, ...] | None = None
        self._data: bytes | None = None
        self._states: dict[TrackKey, TrackState] = {}

    def state(self, key: TrackKey) -> TrackState | None:
        """Return what is said of a track by now."""
        try:
            self._read()
        except FileNotFoundError:
            self._forget("is missing")
        except (OSError, ValueError) as error:
            self._forget(f"cannot be read: {reason_of(error)}")
        return self._states.get(key)

    def _read(self) -> None:
        signature = self._place.signature(self.path)
        if signature is not None and signature == self._signature:
            return
        data = self._place.read_at(self.path, 0, MAX_BYTES)
        if data != self._data:
            self._states = decode(data)
            self._data = data
        self._signature = signature
        self.damage = None

    def _forget(self, reason: str) -> None:
        self.damage = f"{self.path} {reason}"
        self._signature = self._data = None
        self._states = {}


class Track:
    """One generation of one stream of one interface; made by `Spool.tracks`.

    `damage` is what of it could not be read so far, a sentence each. It keeps no list of what it
    has read: what is listed goes to whom asks.
    """

    def __init__(
        self,
        place: Place,
        key: tuple[str, str, int],
        description: dict[str, Any],
        schema: pyarrow.Schema,
        progress: InterfaceProgress,
    ) -> None:
        """`key` is (stream, interface, generation), `description` what streams.json says."""
        self.stream, self.interface, self.generation = key
        self.hash: str = description["hash"]
        self.columns: list[dict[str, Any]] = description["columns"]
        self.schema = schema
        self.folder = f"{place.root}/{layout.generation_path(*key)}"
        self.damage: list[str] = []
        self.lost: list[Lost] = []
        """What the runs of this generation have told of losses of those before them."""
        self.is_ended = False
        """Whether an end is listed: nothing follows in this generation."""
        self.is_cut_off = False
        """Whether damage hides what comes last, so that an end may never be seen."""
        self.away: str | None = None
        """Why the host did not answer when it was asked last, or answered in part."""
        self.listed_bytes = 0
        """Of all segments that are listed, as far as that is known."""
        self._place = place
        self._progress = progress
        self._roll: int | None = None
        self._manifest = ManifestReader()
        self._told_lines = 0
        self._reached = TrackProgress((NOTHING,) * len(schema), NOTHING)
        self._last_segment = -1

    @property
    def is_served(self) -> bool:
        """Whether another host is asked for it."""
        return self._place.is_served

    def poll(self) -> list[Entry]:
        """Return the entries that have been listed since the last call."""
        if self.is_ended:
            return []
        self.away = None
        try:
            # First the progress, then the manifest: what it promises is of what is listed by then.
            state = self._progress.state((self.stream, self.generation))
        except SpoolAwayError as away:
            self.away = str(away)
            return []
        self.is_cut_off = False
        new = [entry for entry in self._lines() if self._is_sound(entry)]
        for entry in new:
            self._take(entry)
        if self.away is not None:
            return new  # what is promised may be of lines that have not come
        if state is not None:
            new += self._of_progress(state)
        elif self._progress.damage is not None and not self.is_ended:
            self._cut_off(self._progress.damage)
        elif self._roll is None and not self.is_ended:
            # A writer tells of a generation before spool.json names it.
            self._cut_off(f"{self.folder} has no manifest, and {self._progress.path} no word of it")
        return new

    def retained(self) -> Retained:
        """Return what retention has deleted by now; `first` is the first segment kept."""
        path = f"{self.folder}/{layout.RETAINED}"
        try:
            return decode_retained(self._place.read_at(path, 0, MAX_RETAINED_BYTES))
        except FileNotFoundError:
            return Retained()
        except (OSError, ValueError) as error:
            self._tell(f"{path} cannot be read: {reason_of(error)}")
            return Retained()

    def read(
        self, entry: Entry, columns: Sequence[str] | None = None, check: bool = True
    ) -> Iterator[pyarrow.RecordBatch]:
        """Yield the batches of a segment; of other entries none.

        `columns` are those wanted, in this order, None for all; others are not decoded.
        `check` compares the file's CRC-32 first. Raises SegmentDamage, before or between batches;
        SpoolReadError where columns cannot be told apart; ValueError for one that the track lacks.
        """
        if not entry.is_segment or entry.segment is None:
            return
        self.check_names()
        path = self._segment_path(entry)
        try:
            yield from read_segment(self._place, path, entry, self.schema, columns, check)
        except SegmentDamage as error:
            if entry.segment < self.retained().first:
                text = "retention has deleted it"
                raise damage(path, entry, text, is_retired=True) from None
            self._tell(str(error))
            raise

    def check_names(self) -> None:
        """Raise SpoolReadError where columns cannot be told apart by their names."""
        check_names(self.folder, self.stream, self.schema.names)

    def has_come(self, entry: Entry) -> bool:
        """Whether what a line lists is there, as far as its size tells; it may be on its way.

        Only of a folder of this host, where a copy is made file by file.
        """
        if not entry.is_segment or not self._place.is_here:
            return True
        try:
            return self._place.size_bytes(self._segment_path(entry)) >= entry.size_bytes
        except NoFileError:
            return True  # damage, which does not pass
        except OSError:
            return (entry.segment or 0) < self.retained().first

    def fill(self, entry: Entry) -> tuple[int, int]:
        """Return what grows while segments come: how many names there are, and a file's bytes."""
        names = size_bytes = -1
        with suppress(OSError):
            names = len(self._place.names(self.folder))
            size_bytes = self._place.size_bytes(self._segment_path(entry))
        return names, size_bytes

    def _segment_path(self, entry: Entry) -> str:
        return f"{self.folder}/{layout.segment_name(entry.segment or 0)}"

    def names(self) -> list[str] | None:
        """Return what lies in its folder, hidden names not; None where that cannot be told."""
        try:
            return self._place.names(self.folder)
        except OSError:
            return None

    def readers(self) -> dict[str, int] | None:
        """Return by its name what each reader has committed; None where that cannot be told."""
        folder = f"{self.folder}/{layout.READERS}"
        try:
            names = self._place.names(folder)
        except (FileNotFoundError, NotADirectoryError):
            return None if self.is_served else {}
        except OSError:
            return None
        return {
            layout.unquoted(name.removesuffix(".json")): self._committed(name) for name in names
        }

    def _committed(self, name: str) -> int:
        path = f"{self.folder}/{layout.READERS}/{name}"
        try:
            return committed_segment(self._place.read_at(path, 0, MAX_RETAINED_BYTES))
        except OSError as error:
            self._tell(f"{path} cannot be read, so that nothing is deleted: {reason_of(error)}")
            return 0

    def commit(self, reader: str, segment: int, passed: Passed | None = None) -> None:
        """Tell the writer that a reader is done with the segments below `segment`.

        Raises SpoolReadError where the spool cannot be written.
        """
        try:
            self._place.commit(self.folder, reader, segment, passed)
        except OSError as error:
            raise SpoolReadError(f"cannot commit to {self.folder}: {reason_of(error)}") from None

    def passed(self, reader: str) -> Passed | None:
        """Return what a reader has said with its commits; None where it has said nothing.

        Raises SpoolAwayError.
        """
        return self._place.passed(self.folder, reader)

    # ---- the manifest, file by file ----

    def _lines(self) -> Iterator[Entry]:
        """Yield what is new; what has come stays, where the host falls silent meanwhile."""
        count = 0
        try:
            for entry in self._lines_of_rolls():
                count += 1
                if count > MAX_SERVED_ENTRIES and self._place.is_served:
                    raise SpoolReadError(f"{self.folder} lists without end: it is not read")
                yield entry
        except SpoolAwayError as away:
            self.away = str(away)

    def _lines_of_rolls(self) -> Iterator[Entry]:
        while self._find_roll():
            try:
                has_next = yield from self._lines_of_roll()
            except FileNotFoundError:
                has_next = self._skip_deleted()
            except OSError as error:
                self._cut_off(f"{self._path} cannot be read: {reason_of(error)}")
                return
            finally:
                self._tell_lines()
            if not has_next:
                return
            self._begin_roll((self._roll or 0) + 1)

    def _find_roll(self) -> bool:
        """Whether there is a manifest; the first time its oldest file is looked for."""
        if self._roll is None:
            rolls = self._rolls()
            if not rolls:
                return False
            self._begin_roll(rolls[0])
        return True

    def _rolls(self) -> list[int]:
        try:
            names = self._place.names(self.folder)
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            self._cut_off(f"{self.folder} cannot be read: {reason_of(error)}")
            return []
        return sorted(roll for roll in map(layout.roll_of, names) if roll is not None)

    def _begin_roll(self, roll: int) -> None:
        self._roll = roll
        self._manifest = ManifestReader(layout.manifest_name(roll))
        self._told_lines = 0

    @property
    def _path(self) -> str:
        return f"{self.folder}/{self._manifest.name}"

    def _has_next(self) -> bool:
        try:
            self._place.size_bytes(f"{self.folder}/{layout.manifest_name((self._roll or 0) + 1)}")
        except OSError:
            return False
        return True

    def _lines_of_roll(self) -> Generator[Entry, None, bool]:
        """Yield what is new in this file; return whether there is a next. Raises OSError."""
        size_bytes = self._place.size_bytes(self._path)
        has_next = size_bytes >= ROLL_BYTES and self._has_next()
        if has_next:  # this one has no more to come from now on
            size_bytes = self._place.size_bytes(self._path)
        yield from self._new_lines(size_bytes)
        return has_next

    def _new_lines(self, size_bytes: int) -> Iterator[Entry]:
        if size_bytes <= self._manifest.offset:
            if size_bytes < self._manifest.offset:
                self._cut_off(f"{self._path} has become shorter than what was read of it")
            return
        yield from self._manifest.poll(lambda at, size: self._place.read_at(self._path, at, size))

    def _tell_lines(self) -> None:
        for text in self._manifest.damage[self._told_lines :]:
            self._tell(f"{self.folder}: {text}")
        self._told_lines = len(self._manifest.damage)

    def _skip_deleted(self) -> bool:
        """Whether there are later files, where retention has deleted this one."""
        later = [roll for roll in self._rolls() if roll > (self._roll or 0)]
        if later:
            self._roll = later[0] - 1
            return True
        self._cut_off(f"{self._path} is missing")
        return False

    # ---- what lines and progress say ----

    def _is_sound(self, entry: Entry) -> bool:
        """Whether a line fits this track, and follows from those before it."""
        if len(entry.bounds) != len(self.schema):
            counts = f"{len(entry.bounds)} bounds for {len(self.schema)} columns"
            self._tell(f"{self.folder}: a line with {counts}")
            return False
        if entry.is_segment and (entry.segment or 0) <= self._last_segment:
            listed = f"segment {entry.segment} is listed behind {self._last_segment}"
            self._tell(f"{self.folder}: {listed}")
            return False
        if entry.segment is not None:
            last = entry.segment if entry.is_segment else entry.segment - 1
            self._last_segment = max(self._last_segment, last)
        return True

    def _take(self, entry: Entry) -> None:
        self._reached = self._reached.advanced(*entry.progress)
        self.listed_bytes += entry.size_bytes if entry.is_segment else 0
        self.is_ended |= entry.kind == "end"
        if entry.lost:
            self.lost.append(entry.lost)

    def _of_progress(self, state: TrackState) -> list[Entry]:
        """Return the punctuation, or the end, that is told beside the manifest."""
        self.listed_bytes = max(self.listed_bytes, state.size_bytes)
        if len(state.bounds) != len(self.schema) or self.is_ended:
            return []
        if state.next_segment > self._last_segment + 1:
            if not self.is_cut_off and not self._manifest.damage:
                first, last = self._last_segment + 1, state.next_segment - 1
                self._tell(f"{self.folder}: the manifest lacks segments {first} to {last}")
            self.is_cut_off = True
            return []
        reached = self._reached.advanced(*state.progress)
        if reached == self._reached and not state.is_ended:
            return []
        kind = "end" if state.is_ended else "punctuation"
        bounds, base_ns, joint = reached
        entry = Entry(kind, None, 0, 0, 0, bounds, base_ns, 0, 0, time.time_ns(), joint=joint)
        self._take(entry)
        return [entry]

    def _cut_off(self, text: str) -> None:
        self.is_cut_off = True
        self._tell(text)

    def _tell(self, text: str) -> None:
        text = printable(text)
        if text in self.damage:
            return
        if len(self.damage) >= MAX_SERVED_DAMAGE and self._place.is_served:
            raise SpoolReadError(f"{self.folder} is damage without end: it is not read")
        self.damage.append(text)


def reason_of(error: Exception) -> str:
    """Return why a file cannot be read, in one line that is good to print."""
    if isinstance(error, OSError) and not isinstance(error, NoFileError) and error.strerror:
        return error.strerror
    return printable(str(error).split("\n")[0][:200])


def commit_reader(track: Track, reader: str, segment: int) -> None:
    """Tell the writer that a reader is done with a track's segments below `segment`."""
    track.commit(reader, segment)
