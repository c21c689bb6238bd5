# SPDX-License-Identifier: Apache-2.0
"""One track as a query reads it: where it may begin, and what is no longer to be had."""

from __future__ import annotations

import time
from collections.abc import Iterable
from contextlib import suppress

from gigastream.spool import NOTHING, Entry, Passed, SpoolAwayError, SpoolReadError, Track
from gigastream.spool.arrivals import Arrivals
from gigastream.spool.track import MAX_SERVED_ENTRIES
from spark_sink.errors import SKIP_HINT, HostAwayError, SpoolSourceError, tell
from spark_sink.offsets import Position
from spark_sink.options import EARLIEST, LATEST
from spark_sink.segment_index import SegmentIndex
from spark_sink.segments import Slice

_LOOK_SECONDS = 0.05
_START_AGAIN = "the same command, when it serves, goes on"


class Reading:
    """A track of a spool, and its index as far as the manifest has been read."""

    def __init__(self, path: str, track: Track, *, fails_on_damage: bool = False) -> None:
        self.path = path
        self.track = track
        self.index = SegmentIndex()
        self._arrivals = Arrivals()
        self._fails_on_damage = fails_on_damage
        self._told = 0
        self._due_s = 0.0
        self._first_kept = 0
        self._is_told_away = False
        self._newest = track.generation
        self._is_asked = False
        """Whether the manifest was read since the newest generation was found."""

    @property
    def is_up_to_date(self) -> bool:
        """Whether all is known that was listed before the newest generation was found.

        An earlier one has ended by then: rows that it has yet to tell of would be passed over.
        """
        return self._is_asked and not self._arrivals.are_awaited

    def mark_newer(self, newest: int) -> None:
        """Take note of the newest generation that was found of this track."""
        self._is_asked = self._is_asked and newest == self._newest
        self._newest = newest

    def refresh(self) -> bool:
        """Read on in the manifest; return whether it says that the track lives.

        What is wrong with it is told once. Raises SourceError, if damage is to fail.
        """
        if self._is_just_asked():
            return False
        try:
            news = self._arrivals.poll(self.track)
        except SpoolReadError as error:  # a host that lies, or takes the token no more
            raise SpoolSourceError(str(error), error.hint, exit_code=1) from None
        self._tell_if_away()
        self._is_asked = self._is_asked or self.track.away is None
        self.index.add(news)
        if self.track.is_served and len(self.index) > MAX_SERVED_ENTRIES:
            raise SpoolSourceError(f"{self.track.folder} lists without end: it is not read")
        for sentence in self.track.damage[self._told :]:
            if self._fails_on_damage:
                raise SpoolSourceError(sentence, SKIP_HINT, exit_code=1)
            tell(sentence)
            self._told += 1
        return any(entry.kind != "run" for entry in news)

    def settle(self) -> None:
        """Wait for segments that are on their way, until they are there or lost.

        Raises SourceError where the host is away: what is there now cannot be told.
        """
        self.refresh()
        while self._arrivals.are_awaited or not (self._is_asked or self.track.away):
            time.sleep(_LOOK_SECONDS)
            self.refresh()
        if self.track.away is not None:
            raise HostAwayError(self.track.away, _START_AGAIN, exit_code=1)

    def _is_just_asked(self) -> bool:
        """Whether another host was asked a moment ago: Spark asks a hundred times a second."""
        if not self.track.is_served:
            return False
        now_s = time.monotonic()
        is_just_asked = now_s < self._due_s
        if not is_just_asked:
            self._due_s = now_s + _LOOK_SECONDS
        return is_just_asked

    def _tell_if_away(self) -> None:
        away = self.track.away
        if away is not None and not self._is_told_away:
            tell(f"note: {away}: {self.track.interface} of {self.path} is silent until it does")
        elif away is None and self._is_told_away:
            tell(f"note: {self.path} answers again")
        self._is_told_away = away is not None

    def _kept(self) -> int:
        """The first segment kept, as far as is known."""
        with suppress(SpoolAwayError):
            self._first_kept = self.track.retained().first
        return self._first_kept

    def slice_of(self, entries: Iterable[Entry]) -> Slice:
        """Some of its segments, for a task."""
        track = self.track
        return Slice(self.path, track.stream, track.interface, track.generation, tuple(entries))

    def beginning(self, starting_at: str | int) -> Position:
        """Where a query begins that has no checkpoint yet. Raises SourceError."""
        first = self._kept()
        if starting_at == EARLIEST:
            return Position(self.track.generation, first, NOTHING)
        after = max(first, self.index.next_segment)
        segment = after if starting_at == LATEST else max(first, int(starting_at))
        if segment > after:
            raise SpoolSourceError(
                f"startingAt {segment}: the next segment of {self.track.interface} is {after}",
                "latest begins with what is still to come",
            )
        return Position(self.track.generation, segment, self.index.heartbeat_before_ns(segment))

    @property
    def end(self) -> Position:
        """Behind all that is known by now."""
        segment = max(self._first_kept, self.index.next_segment)
        return Position(self.track.generation, segment, self.index.heartbeat_ns)

    def passed(self, segment: int) -> Passed:
        """The rows before a segment with which a query begins."""
        gone = self.index.rows_before(self.track.retained().first)
        return Passed(gone, max(0, self.index.rows_before(segment) - gone))

    def check_reaches(self, segment: int) -> None:
        """Refuse a position beyond the track's end: it lost what the query has read."""
        if segment > self.index.next_segment and segment > self._kept():
            raise SpoolSourceError(
                f"{self.track.folder} ends before segment {segment}, up to which the checkpoint "
                "says that this query has read",
                "the spool was replaced, or lost segments when its machine went down; begin again "
                "with a new checkpoint",
                exit_code=1,
            )

    def check_keeps(self, segment: int) -> None:
        """Refuse a position whose segments are deleted: their rows would silently be missing."""
        kept = self._kept()
        if segment < kept:
            raise SpoolSourceError(
                f"{self.track.folder}: retention has deleted segments {segment} to {kept - 1}, "
                "which this query has not read yet",
                "begin again with a new checkpoint: gigastream spark --checkpoint NEW, with --from "
                'TIME without windows that are out; and with .option("reader", "a name"), for '
                "retention waits for readers that it knows",
                exit_code=1,
            )
