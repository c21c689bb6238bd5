# SPDX-License-Identifier: Apache-2.0
"""All that a query reads: each interface of its stream in each of its spools, as they appear."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from gigastream.spool import END, NOTHING, Entry, Passed, SpoolAwayError, SpoolReadError, Track
from spark_sink.errors import SpoolSourceError, tell
from spark_sink.offsets import END_MS, Offsets, Position, heartbeat_ms
from spark_sink.options import EARLIEST, SourceOptions
from spark_sink.places import Places
from spark_sink.reading import Reading
from spark_sink.segment_index import SegmentIndex
from spark_sink.silences import Silences
from spark_sink.tracks import Chain, track_of

_ALL = END
"""Commits that a reader wants nothing more of a generation."""


class Spools:
    """The readings by key: the interface's name, behind the spool's identity if there are several.

    A position names its generation, which is read to its end. Where another goes on with it, the
    next micro-batch begins there.
    """

    def __init__(self, options: SourceOptions) -> None:
        self._options = options
        self._places = Places(options)
        self._chains: dict[str, Chain] = {}
        self._readings: dict[tuple[str, int], Reading] = {}
        self._committed: dict[str, int] = {}
        self._passed: dict[str, Passed | None] = {}
        """By folder; None where nobody knows."""
        self._released: set[tuple[str, int]] = set()
        self._silences = Silences(options.idle_after_s, options.on_idle)
        self._is_frozen = self._is_read_only = False

    def indexes(self, positions: Offsets) -> dict[str, SegmentIndex]:
        """What is known by now of the generations at these positions."""
        return {
            key: self._reading(key, position.generation).index
            for key, position in positions.items()
            if position.generation
        }

    def freeze(self) -> None:
        """What is there now is all there is: for a query that ends when it has read it."""
        if self._is_frozen:
            return
        self._places.look_at_once()
        self.refresh({})
        for reading in self._readings.values():
            reading.settle()
        self._is_frozen = True

    def refresh(self, known: Offsets) -> None:
        """Look for what has begun, and read on in the manifests of it and of those `known`.

        Behind news it is looked again: what had begun before they were written must hold the
        heartbeat back that they bring, or its rows would be late. What is found then is read, too.
        """
        if not self._is_frozen:
            self._look()
        for key, position in known.items():
            if position.generation:
                self._reading(key, position.generation)
        while not self._is_frozen and self._read_on():
            self._places.look_at_once()
            if not self._look():
                return

    def _read_on(self) -> bool:
        """Whether a manifest had more to say."""
        lively = [key for (key, _), reading in self._readings.items() if reading.refresh()]
        for key in lively:
            self._silences.heard(key)
        return bool(lively)

    def beginning(self) -> dict[str, Position]:
        """Where a query without a checkpoint begins; interfaces that it waits for are named too."""
        positions = dict.fromkeys(self._places.expected_keys(), Position())
        for key, chain in self._chains.items():
            is_first = self._options.starting_at == EARLIEST
            number = chain.numbers[0 if is_first else -1]
            positions[key] = self._begin(key, number, self._options.starting_at)
        return positions

    def _begin(self, key: str, generation: int, starting_at: str | int) -> Position:
        """Where a generation is begun with; from now on retention waits for this reader."""
        reading = self._reading(key, generation)
        position = reading.beginning(starting_at)
        if self._options.reader is not None:
            with suppress(SpoolAwayError):  # then the next commit says it
                known = self._known_passed(reading) or reading.passed(position.segment)
                self._passed[reading.track.folder] = known
            self._commit(reading, position.segment)
        return position

    def _known_passed(self, reading: Reading) -> Passed | None:
        """What this reader has said of a generation before, maybe in another process."""
        known = self._passed.get(reading.track.folder)
        return known or reading.track.passed(str(self._options.reader))

    def newest(self) -> dict[str, Position]:
        """Behind all that is known of the newest generations."""
        return {
            key: self._reading(key, chain.newest.generation).end
            for key, chain in self._chains.items()
        }

    def with_new(self, start: Offsets) -> dict[str, Position]:
        """`start`, checked, with what has begun since and with the generations that go on."""
        positions = dict(start)
        for key, chain in self._chains.items():
            is_new = positions.get(key, Position()).generation == 0
            if is_new and self._is_ours(chain, start):
                positions[key] = self._begin(key, chain.numbers[0], EARLIEST)
                self._tell_if_late(key, chain, start)
        for key, position in positions.items():
            if position.generation:
                reading = self._reading(key, position.generation)
                reading.check_reaches(position.segment)
                # Who has read all that is listed misses nothing: no file is opened at every look.
                if position.segment < reading.index.next_segment:
                    reading.check_keeps(position.segment)
        return positions if heartbeat_ms(start) == END_MS else self.gone_on(positions)

    def _is_ours(self, chain: Chain, known: Offsets) -> bool:
        """Whether a track is of the stream that was begun with, and not another by its name."""
        hashes = {
            self._reading(key, position.generation).track.hash
            for key, position in known.items()
            if position.generation
        }
        return not hashes or chain.newest.hash in hashes

    def gone_on(self, positions: Offsets) -> dict[str, Position]:
        """The same, where a generation is read to its end at the beginning of the next."""
        return {key: self._gone_on(key, position) for key, position in positions.items()}

    def _gone_on(self, key: str, position: Position) -> Position:
        following = self._following(key, position)
        if following is None:
            return position
        first = self._begin(key, following, EARLIEST).segment
        # The end of a generation with which another goes on was none.
        reached_ns = NOTHING if position.heartbeat_ns == END else position.heartbeat_ns
        return self._gone_on(key, Position(following, first, reached_ns))

    def _following(self, key: str, position: Position) -> int | None:
        """The generation that goes on with one that is read to its end."""
        if key not in self._chains or not self._is_read(key, position):
            return None
        return self._chains[key].after(position.generation)

    def _is_read(self, key: str, position: Position) -> bool:
        """Whether a position is behind all of its generation, if it grows no more."""
        if not position.generation or self._has_unread(key, position):
            return False
        return self._reading(key, position.generation).is_up_to_date

    def _has_unread(self, key: str, position: Position) -> bool:
        """Whether segments are known behind a position."""
        return position.segment < self._reading(key, position.generation).index.next_segment

    def past_silences(self, positions: Offsets) -> dict[str, Position]:
        """The positions, where time goes on without who is silent, if so it is wanted."""
        unread = [
            key
            for key, position in positions.items()
            if position.generation and self._has_unread(key, position)
        ]
        return self._silences.past(positions, unread, self._places.is_written)

    def _is_told(self, key: str, position: Position) -> bool:
        """Whether a micro-batch has said how far a generation had come at last."""
        return position.heartbeat_ns >= self._reading(key, position.generation).index.heartbeat_ns

    def why_not(self, positions: Offsets) -> SpoolSourceError | None:
        """Why a query cannot go on for which something more was written, where that is so."""
        has_ended = heartbeat_ms(positions) == END_MS
        for key, position in positions.items():
            if self._is_read(key, position) and self._is_told(key, position):
                reason = self._why_not(key, position, has_ended=has_ended)
                if reason is not None:
                    return reason
        return None

    def _why_not(self, key: str, position: Position, *, has_ended: bool) -> SpoolSourceError | None:
        reading = self._reading(key, position.generation)
        chain = self._chains.get(key)
        if chain is None:
            return self._places.why_gone(reading.path, self._options.stream)
        newest = chain.newest
        if newest.generation <= position.generation:
            return None
        if newest.hash != reading.track.hash:
            why = "is of another query: its rows are others"
        elif chain.after(position.generation) is None:
            why = "was written anew, from the beginning of its input"
        elif has_ended:
            why = "goes on behind an end, at which the last windows were answered"
        else:
            return None
        return SpoolSourceError(
            f"{reading.track.folder} is read to its end, and generation {newest.generation} {why}",
            "begin again with a new checkpoint",
            exit_code=1,
        )

    def between(self, start: Offsets, end: Offsets) -> list[tuple[Reading, list[Entry]]]:
        """The segments between two positions, track by track, the oldest generation first."""
        if not self._reaches(end):
            # A query that is restarted plans its last micro-batch before it asks what is new.
            self.refresh(end)
        found = []
        for key in sorted(key for key in end if end[key].generation):
            for reading, first, after in self._stretches(key, start.get(key, Position()), end[key]):
                if first < after:
                    reading.check_reaches(after)
                    reading.check_keeps(first)
                    found.append((reading, reading.index.between(first, after)))
        return found

    def _stretches(
        self, key: str, start: Position, end: Position
    ) -> Iterator[tuple[Reading, int, int]]:
        """Of each generation, from which segment on and up to which it is read."""
        if start.generation == end.generation:
            reading = self._remembering(key, end.generation, start.segment)
            yield reading, start.segment, end.segment
            return
        if start.generation:
            reading = self._remembering(key, start.generation, start.segment)
            yield reading, start.segment, reading.index.next_segment
        for number in self._chains[key].numbers if key in self._chains else ():
            if start.generation < number < end.generation:
                reading = self._remembering(key, number, 0)
                yield reading, reading.index.first_segment, reading.index.next_segment
        reading = self._remembering(key, end.generation, 0)
        yield reading, reading.index.first_segment, end.segment

    def chains(self) -> dict[str, tuple[str, list[Reading]]]:
        """By track, the name of its spool and its generations as they are known by now."""
        return {
            key: (self._places.name(chain.path), [self._reading(key, n) for n in chain.numbers])
            for key, chain in self._chains.items()
        }

    def key(self, reading: Reading) -> str:
        """What a track's position is called."""
        return self._places.key(reading.path, reading.track.interface)

    def commit(self, end: Offsets) -> None:
        """What lies below `end` is not asked for again: forget it, and let retention know."""
        for key, position in end.items():
            if position.generation:
                reading = self._reading(key, position.generation)
                reading.index.forget_below(position.segment)
                self._commit(reading, position.segment)
                self._release_before(key, position.generation)

    def _release_before(self, key: str, generation: int) -> None:
        """Generations that are read want nothing more of their writer, and of us."""
        for track in self._chains[key].tracks if key in self._chains else ():
            done = key, track.generation
            if track.generation < generation and done not in self._released:
                self._released.add(done)
                self._commit(self._reading(*done), _ALL)
                del self._readings[done]

    def _commit(self, reading: Reading, segment: int) -> None:
        folder = reading.track.folder
        if self._options.reader is None or self._is_read_only:
            return
        if self._committed.get(folder) == segment:
            return
        try:
            if folder not in self._passed:
                self._passed[folder] = self._known_passed(reading)
            reading.track.commit(self._options.reader, segment, self._passed[folder])
            self._committed[folder] = segment
        except SpoolAwayError:
            pass  # the next commit says it, too
        except SpoolReadError as error:
            self._is_read_only = True
            tell(f"note: {error}: retention will not wait for this query")

    def _remembering(self, key: str, generation: int, segment: int) -> Reading:
        """A reading that still knows a segment: its manifest is read anew if need be."""
        if self._reading(key, generation).index.forgotten_below > segment:
            del self._readings[key, generation]
        return self._reading(key, generation)

    def _reaches(self, end: Offsets) -> bool:
        return all(
            (key, position.generation) in self._readings
            and self._readings[key, position.generation].index.next_segment >= position.segment
            for key, position in end.items()
            if position.generation
        )

    def _look(self) -> bool:
        """Whether interfaces or generations have begun; another stream by its name is not ours."""
        begun, known = dict(self._places.look()), len(self._readings)
        if not begun:
            return False
        self._chains = {k: chain for k, chain in self._chains.items() if chain.path not in begun}
        for path, found in begun.items():
            self._chains |= found
            for key, chain in found.items():
                for track in chain.tracks:
                    if (key, track.generation) not in self._released:
                        self._readings.setdefault((key, track.generation), self._new(path, track))
        for (key, generation), reading in self._readings.items():
            self._mark_if_followed(key, generation, reading)
        return len(self._readings) > known

    def _mark_if_followed(self, key: str, generation: int, reading: Reading) -> None:
        if key in self._chains:
            chain = self._chains[key]
            reading.index.is_followed = chain.after(generation) is not None
            reading.mark_newer(chain.newest.generation)

    def _tell_if_late(self, key: str, chain: Chain, start: Offsets) -> None:
        reached_ms = heartbeat_ms(start)
        if reached_ms is not None and chain.newest.folder not in self._places.told:
            self._places.told.add(chain.newest.folder)
            tell(
                f"note: {chain.newest.interface} of {chain.path} has begun: what it has of windows "
                "that are answered is too late"
            )

    def _new(self, path: str, track: Track) -> Reading:
        return Reading(path, track, fails_on_damage=self._options.fails_on_damage)

    def _reading(self, key: str, generation: int) -> Reading:
        if (key, generation) not in self._readings:
            path, interface = self._places.place(key)
            stream = self._options.stream or self._places.only_stream(path)
            reading = self._new(
                path, track_of(path, stream, interface, generation, self._options.access)
            )
            self._readings[key, generation] = reading
            self._mark_if_followed(key, generation, reading)
            reading.refresh()
        return self._readings[key, generation]
