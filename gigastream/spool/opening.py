# SPDX-License-Identifier: Apache-2.0
"""The way into the tracks that are written: which generation of each, and how a run begins."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from gigastream.late_dataclass import dataclass, replace
from gigastream.spool import layout
from gigastream.spool.entry import END, Entry, Lost
from gigastream.spool.errors import RAN_OUT
from gigastream.spool.files import numbers_in, read_object
from gigastream.spool.generation import Generation, read_generation
from gigastream.spool.index import Index, Port, new_identity, read_index, write_index
from gigastream.spool.manifest import ManifestWriter, base_of
from gigastream.spool.progress import ProgressWriter, TrackKey, TrackState, nothing, read_states
from gigastream.spool.query_set import StoredQuerySet, StreamDescription, write_set
from gigastream.spool.recovery import RecoveredGeneration, find
from gigastream.spool.settings import SECOND_NS, SpoolSettings
from gigastream.spool.track_log import TrackLog

_CLOCK_MARGIN_NS = SECOND_NS
"""Taken off what is trusted to be durable: lines are dated before they are."""


@dataclass(frozen=True, slots=True)
class Before:
    """A track's newest generation as the last run left it."""

    generation: Generation
    found: RecoveredGeneration
    state: TrackState


class Opening:
    """Opens the tracks of a query set in a spool that this process holds. Raises OSError."""

    def __init__(
        self, root: Path, settings: SpoolSettings, progress: dict[str, ProgressWriter]
    ) -> None:
        """`progress` is by interface, and taken further."""
        self._root = root
        self._settings = settings
        self._progress = progress
        self._unsynced_ns = (settings.sync_period_ns or 0) + _CLOCK_MARGIN_NS
        self._index = read_index(root)
        self._states: dict[str, dict[TrackKey, TrackState]] = {}
        self._since: dict[Port, int] = {}
        self._unwritten: Mapping[Port, int] = {}
        self._streams = self._described()

    def open(
        self,
        query_set: StoredQuerySet,
        ports: Iterable[Port],
        anew: Collection[str],
        live: Collection[str] = (),
        unwritten: Mapping[Port, int] | None = None,
    ) -> dict[Port, TrackLog]:
        """Go on with each track's generation, or begin one if it ended or its stream changed.

        The tracks of the interfaces in `anew` begin one. One that begins on an interface in `live`
        goes on in time with that before it, if that is of the same stream. What the last run wrote
        and this one does not, a stream or an interface, is ended, so that no reader waits, and is
        no track any more. `unwritten` are rows that were lost since, which the run's line says.
        """
        self._unwritten = unwritten or {}
        before = {port: self._before(port) for port in ports}
        generations = {
            port: self._generation(query_set, port, there, anew) for port, there in before.items()
        }
        self._since = {
            port: self._first(there, generations[port], live)
            for port, there in before.items()
            if there is not None
        }
        self._end_others(before)
        number = self._set_number(query_set, before)
        generations = {
            port: replace(generation, set_number=generation.set_number or number)
            for port, generation in generations.items()
        }
        logs = {
            port: self._log(generation, before[port], query_set.streams[port[0]])
            for port, generation in generations.items()
        }
        numbers = {port: generation.number for port, generation in generations.items()}
        for writer in self._progress.values():
            writer.write()
        since = {port: first for port, first in self._since.items() if first < numbers[port]}
        identity = (self._index.identity if self._index else None) or new_identity()
        write_index(self._root, Index(number, numbers, since=since, identity=identity))
        return logs

    def end_all(self) -> list[Generation]:
        """End what the last run left open, and return it: its writer is gone."""
        found = [self._before(port) for port in (self._index.generations if self._index else ())]
        left = [before for before in found if before is not None and not before.state.is_ended]
        for before in left:
            self._end(before)
        return [before.generation for before in left]

    def mend(self) -> list[tuple[Generation, Lost]]:
        """Begin a run as far as what the last one left torn goes, and return what that was."""
        found = [self._before(port) for port in (self._index.generations if self._index else ())]
        torn = [before for before in found if before is not None and before.found.is_torn]
        for before in torn:
            if before.state.is_ended:
                _remove(before.found)
            else:
                folder = before.generation.folder(self._root)
                manifest = ManifestWriter(folder, base_of(before.found.entries))
                _begin_run(manifest, before.found, before.state)
        return [(before.generation, before.found.lost) for before in torn]

    # ---- which generation ----

    def _described(self) -> Mapping[str, object]:
        """Return the hashes of the last set's streams, by name."""
        if self._index is None:
            return {}
        value = read_object(self._set_folder(self._index.set_number) / layout.DESCRIPTIONS) or {}
        streams = value.get("streams")
        self._last_set = value
        return (
            {name: stream.get("hash") for name, stream in streams.items() if type(stream) is dict}
            if isinstance(streams, dict)
            else {}
        )

    def _set_folder(self, number: int) -> Path:
        return self._root / layout.SETS / layout.number_name(number)

    def _set_number(self, query_set: StoredQuerySet, ports: Collection[Port]) -> int:
        """Return the last set's number if this is the same, else that of a new one.

        On other interfaces it is another: its queries say which ones a reader is to look for.
        """
        if (
            self._index is not None
            and self._last_set == query_set.descriptions
            and self._index.generations.keys() == set(ports)
        ):
            return self._index.set_number
        return write_set(self._root, query_set)

    def _before(self, port: Port) -> Before | None:
        stream, interface = port
        number = None if self._index is None else self._index.generations.get(port)
        identity = self._streams.get(stream)
        set_number = 0 if self._index is None else self._index.set_number
        newest = max(self._numbers(port), default=None)
        if newest is not None and (number is None or newest > number):
            number = newest
        if number is None:
            return None
        generation = Generation(stream, interface, number, set_number, str(identity))
        folder = generation.folder(self._root)
        read = read_generation(folder)
        if read is not None:
            generation = replace(read, stream=stream, interface=interface, number=number)
        found = find(folder, self._unsynced_ns)
        recorded = self._recorded(interface).get((stream, number))
        columns = len(recorded.bounds) if recorded else 0
        columns = max((len(entry.bounds) for entry in found.entries), default=columns)
        return Before(generation, found, found.state(columns, recorded))

    def _numbers(self, port: Port) -> list[int]:
        return numbers_in(self._root / layout.track_path(*port), layout.number_of)

    def _recorded(self, interface: str) -> dict[TrackKey, TrackState]:
        if interface not in self._states:
            self._states[interface] = read_states(self._root, interface)
        return self._states[interface]

    def _generation(
        self, query_set: StoredQuerySet, port: Port, before: Before | None, anew: Collection[str]
    ) -> Generation:
        """Return the generation to write; set 0: that which is written now."""
        description = query_set.streams[port[0]]
        if before is None:
            return Generation(*port, 1, 0, description.identity)
        if port[1] not in anew and self._goes_on(before, description):
            return before.generation
        self._end(before)
        return Generation(*port, before.generation.number + 1, 0, description.identity)

    def _goes_on(self, before: Before, description: StreamDescription) -> bool:
        columns = len(before.state.bounds) in (0, len(description.schema.names))
        is_same = before.generation.identity == description.identity
        return is_same and columns and not before.state.is_ended

    def _first(self, before: Before, generation: Generation, live: Collection[str]) -> int:
        """Return the first of the generations that this one goes on with; itself, if with none."""
        there = before.generation
        is_same = there.identity == generation.identity
        if there.number != generation.number and not (is_same and there.interface in live):
            return generation.number
        since = {} if self._index is None else self._index.since
        return since.get((there.stream, there.interface), there.number)

    def _end_others(self, opened: Collection[Port]) -> None:
        """End what the last run wrote and this one does not."""
        for port in self._index.generations if self._index else ():
            before = None if port in opened else self._before(port)
            if before is not None:
                self._end(before)

    # ---- how a run begins ----

    def _log(
        self, generation: Generation, before: Before | None, description: StreamDescription
    ) -> TrackLog:
        interface, columns = generation.interface, len(description.schema.names)
        found, state = RecoveredGeneration(), nothing(columns)
        if before is not None:
            there = before.generation
            recorded = self._recorded(interface).get((there.stream, there.number))
            if there.number == generation.number:
                found, state = before.found, before.found.state(columns, recorded)
            elif self._since[there.stream, interface] != generation.number:
                state = state.at(before.found.before_end(columns, recorded))
        unwritten = self._unwritten.get((generation.stream, interface), 0)
        found = replace(found, lost=replace(found.lost, unwritten_rows=unwritten))
        manifest = None
        if unwritten and not found.rolls:
            generation.make(self._root)
        if found.rolls or unwritten:
            manifest = ManifestWriter(generation.folder(self._root), base_of(found.entries))
            _begin_run(manifest, found, state)
        log = TrackLog(
            self._root, generation, state, manifest, self._writer(interface), self._settings
        )
        log.next_segment = max(found.next_segment, state.next_segment)
        log.listed.lost = found.lost
        return log

    def _writer(self, interface: str) -> ProgressWriter:
        path = self._root / layout.progress_path(interface)
        if interface not in self._progress:
            path.parent.mkdir(exist_ok=True)
            self._progress[interface] = ProgressWriter(path)
        return self._progress[interface]

    def _end(self, before: Before) -> None:
        """End a generation in its own folder: no row follows, and its readers need not wait."""
        is_said = any(entry.kind == "end" for entry in before.found.entries)
        if is_said or not before.state.bounds:
            return
        is_silent = not before.found.rolls
        before.generation.make(self._root, durable=not is_silent)
        folder = before.generation.folder(self._root)
        manifest = ManifestWriter(folder, base_of(before.found.entries))
        _begin_run(manifest, before.found, before.state)
        manifest.append(_line("end", before.found, before.state._replace(base_ns=END)))
        if not is_silent:
            manifest.sync()


def _begin_run(manifest: ManifestWriter, found: RecoveredGeneration, state: TrackState) -> None:
    """Write the run's line, then remove what it says is lost; on a full disk the other way.

    A crash in between has the next run tell of the same files once more.
    """
    line = _line("run", found, state)
    try:
        manifest.append(line)
    except OSError as error:
        if error.errno not in RAN_OUT:
            raise
        _remove(found)
        manifest.append(line)
    if found.lost:
        manifest.sync()
    _remove(found)


def _line(kind: str, found: RecoveredGeneration, state: TrackState) -> Entry:
    last = max((entry.last for entry in found.entries), default=0)
    lost = found.lost if kind == "run" else None
    bounds, base_ns, joint = state.progress
    return Entry(kind, None, 0, 0, 0, bounds, base_ns, last, last, time.time_ns(), lost, joint)


def _remove(found: RecoveredGeneration) -> None:
    for path in found.unlisted:
        path.unlink(missing_ok=True)
