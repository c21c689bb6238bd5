# SPDX-License-Identifier: Apache-2.0
"""The low level of a set that is attached to a running engine, into a spool that outlasts it.

A disk that is full ends nothing. What could not be written is counted, the spool is held and tried
again with a growing pause, and the line of the run that then begins says to every reader how many
rows are missing before it. A promise is only ever of what is listed, or has been said to be lost.
Where the folder itself was taken away, the spool is made again.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from gigastream.late_dataclass import replace
from gigastream.sessions.low_session import (
    Port,
    SpooledStream,
    open_tracks,
    promises_of,
    refuse_unspooled,
)
from gigastream.spool import NOTHING, SpoolError, SpoolSettings, SpoolWriter

if TYPE_CHECKING:
    from gigastream.engine.events import Event
    from gigastream.plan.plan import Plan
    from gigastream.query_texts import QueryTexts
    from gigastream.spool.track_log import TrackLog

Reached = Callable[[], Mapping[str, int] | None]
"""By interface, the packet time (ns) that the engine has come to; None: it is not started."""
FIRST_PAUSE_NS = 1_000_000_000
LONGEST_PAUSE_NS = 60_000_000_000


class SpooledSet:
    """Writes what the LFTAs of an AttachedSet put out, which was made with low_taps.

    Used by one thread. Raises GsqlError for a query that the low level cannot end, SpoolError where
    the spool cannot be written when it is opened, unless it may wait; later nothing.
    """

    def __init__(
        self,
        plan: Plan,
        texts: QueryTexts,
        root: str | Path,
        settings: SpoolSettings | None = None,
        *,
        live: Collection[str] = (),
        files: Collection[str] = (),
        reached: Mapping[str, int] | None = None,
        tell: Callable[[str], None] = lambda _text: None,
        clock: Callable[[], int] = time.monotonic_ns,
        waits: Reached | None = None,
    ) -> None:
        """Go on with the spool at `root`, or make it.

        `live` are interfaces of links, whose streams go on over detach and attach; `files` those
        of files, which are read from their beginning and whose ends are ends. `reached`: by
        interface the packet time (ns) below which the running engine gives nothing; where the spool
        is ahead of it, its stream begins anew. None: the engine is told promises() before it
        starts. With `waits` a spool that cannot be written yet is tried again like one that fails
        later; it says what has been reached by then.
        """
        refuse_unspooled(plan)
        interfaces = texts.interfaces or {name: {} for name in (*live, *files)}
        self._plan, self._texts = plan, replace(texts, interfaces=interfaces)
        self._root, self._how, self._waits = root, settings, waits
        self._live, self._anew = set(live), set(files)
        self._tell, self._clock = tell, clock
        self.failure: str | None = None
        """Why rows are lost now."""
        self._listed_rows = self._listed_bytes = self._listed_files = 0
        self._given: Counter[Port] = Counter()
        self._lost: Counter[Port] = Counter()
        self._unsaid: Counter[Port] = Counter()
        """Of the lost: what no line of the spool has said yet."""
        self._ended: set[Port] = set()
        self._failed_ns = self._pause_ns = self._tried_ns = 0
        self._is_closed = self._is_begun = False
        self._writer: SpoolWriter | None = None
        self._streams: dict[Port, SpooledStream] = {}
        self._reached: dict[str, int] = {}
        try:
            self._begin(reached)
        except SpoolError as error:
            if waits is None:
                raise
            self._rest(error)
            self._tell(f"{error}; rows are lost until it can be written, which is tried again")

    def promises(self) -> dict[str, int]:
        """By interface, the packet time (ns) below which no row may come any more."""
        return {name: reached for name, reached in self._reached.items() if reached != NOTHING}

    def write(self, event: Event) -> bool:
        """Take a batch of the low level. False: it is none, but a query's rows."""
        if event.interface is None:
            return False
        port, rows = (event.query, event.interface), event.batch.row_count
        if event.batch.is_end and port[1] in self._anew:
            self._ended.add(port)
        if self.failure is not None or self._is_closed:
            self._lose(port, rows)
            return True
        self._given[port] += rows
        try:
            base_ns = self._streams[port].write(event.batch, goes_on=port[1] not in self._anew)
        except SpoolError as error:
            self._fail(error)
        else:
            self._reached[port[1]] = max(self._reached[port[1]], base_ns)
        return True

    def tick(self) -> None:
        """Cut what is old enough, or try again; to be called now and then."""
        if self._is_closed:
            return
        if self.failure is not None or self._writer is None:
            self._try_again()
            return
        try:
            self._writer.tick()
        except SpoolError as error:
            self._fail(error)

    def rotate(self) -> None:
        """Try again at once, if it has failed."""
        self._pause_ns = 0
        self.tick()

    def go_on(self, plan: Plan, texts: QueryTexts, settings: SpoolSettings | None = None) -> None:
        """Take another set's batches from here on, or the same set's that is attached again.

        All of the one before has been written. The spool stays held. GsqlError: nothing is changed.
        """
        refuse_unspooled(plan)
        self._plan, self._how = plan, settings
        self._texts = replace(texts, interfaces=texts.interfaces or self._texts.interfaces)
        self._ended.clear()
        if self.failure is not None or self._is_closed or self._writer is None:
            return
        self._count(self._writer.abandon())
        self._writer.settings = settings or SpoolSettings()
        try:
            self._go_on()
        except SpoolError as error:
            self._fail(error)
        else:
            self._unsaid.clear()

    def close(self) -> None:
        """List what is written; the next set, or run, goes on with the spool."""
        if self._is_closed:
            return
        if self.failure is not None:
            self.rotate()  # so that what is lost is said, if it can be
        self._is_closed = True
        if self._writer is None:
            return
        logs = self._writer.logs()
        try:
            self._writer.close()
        except SpoolError as error:
            self.failure = str(error)
            self._tell(self.failure)
        self._count(logs)

    @property
    def rows(self) -> int:
        """Rows that were written."""
        return self._listed_rows + self._given.total()

    @property
    def lost(self) -> int:
        """Rows that could not be."""
        return self._lost.total()

    @property
    def bytes(self) -> int:
        """Of all segments that were listed."""
        return self._listed_bytes + sum(log.listed.size_bytes for log in self._logs())

    @property
    def files(self) -> int:
        """Segments that were listed."""
        return self._listed_files + sum(log.listed.segments for log in self._logs())

    @property
    def oldest_ns(self) -> int | None:
        """CLOCK_REALTIME at which the oldest segment that is kept was listed.

        None: there is none, or none is ever deleted.
        """
        found = [log.oldest_ns() for log in self._logs()]
        return min((at for at in found if at is not None), default=None)

    def _logs(self) -> list[TrackLog]:
        """What is not counted yet."""
        return [] if self._is_closed or self._writer is None else self._writer.logs()

    # ---- opening ----

    def _begin(self, reached: Mapping[str, int] | None) -> None:
        """Open the spool, or make it. SpoolError."""
        if self._writer is not None:
            with suppress(SpoolError):  # of a folder that is gone
                self._writer.close()
            self._writer = None  # which holds none any more, where this fails
        self._writer = writer = SpoolWriter(self._root, self._how)
        anew = set[str]() if self._is_begun else self._anew
        try:
            live = self._live | self._anew if self._is_begun else self._live
            self._streams = self._open(anew, live)
            if ahead := self._ahead(reached):
                self._begin_anew(ahead)
        except BaseException:
            with suppress(SpoolError):
                writer.close()
            self._writer = None
            raise
        self._reached, self._is_begun = promises_of(self._streams), True
        self._tell_unlisted(writer.logs())

    def _tell_unlisted(self, logs: list[TrackLog]) -> None:
        """A run that was killed has taken rows with it which no reader has seen."""
        segments = sum(log.listed.lost.segments for log in logs)
        if segments:
            size_bytes = sum(log.listed.lost.segment_bytes for log in logs)
            self._tell(
                f"{self._root}: segments of the run before that were not listed when it was "
                f"killed are lost: {segments} ({size_bytes:,} bytes)"
            )

    def _open(self, anew: set[str], live: set[str]) -> dict[Port, SpooledStream]:
        assert self._writer is not None
        return open_tracks(self._writer, self._plan, self._texts, anew, live, self._unsaid)

    def _go_on(self) -> None:
        """Open the spool again. SpoolError."""
        self._streams = self._open(set(), self._live | self._anew)
        for name, reached in promises_of(self._streams).items():
            self._reached[name] = max(self._reached.get(name, reached), reached)
        self._end_again()

    def _end_again(self) -> None:
        """Streams of files that have ended meanwhile. SpoolError."""
        for port in self._ended:
            track = self._streams[port].track
            columns = len(track.resume.bounds)
            track.write(None, [NOTHING] * columns, NOTHING, 0, is_end=True)

    def _ahead(self, reached: Mapping[str, int] | None) -> set[str]:
        """Interfaces whose streams have promised what the engine has not come to."""
        if reached is None:
            return set()
        promised = promises_of(self._streams)
        return {name for name in promised if promised[name] > reached.get(name, NOTHING)}

    def _begin_anew(self, ahead: set[str]) -> None:
        assert self._writer is not None
        self._writer.abandon()
        self._streams = self._open(self._anew | ahead, self._live - ahead)
        names = ", ".join(sorted(ahead))
        self._tell(
            f"{self._writer.root}: it is ahead of the packets of {names}, whose streams begin anew"
        )

    # ---- failures ----

    def _lose(self, port: Port, rows: int) -> None:
        self._lost[port] += rows
        self._unsaid[port] += rows

    def _fail(self, error: SpoolError) -> None:
        """Count what is not listed, and say so."""
        if self._writer is not None:
            self._count(self._writer.abandon())
        if self._clock() - self._tried_ns > LONGEST_PAUSE_NS:
            self._pause_ns = 0
        self._rest(error)
        self._tell(f"{error}; rows are lost until it can be written, which is tried again")

    def _count(self, logs: list[TrackLog]) -> None:
        """Take over what a run has listed; the rest of what it was given is lost."""
        for log in logs:
            port = log.generation.stream, log.generation.interface
            self._listed_rows += log.listed.rows
            self._listed_bytes += log.listed.size_bytes
            self._listed_files += log.listed.segments
            self._lose(port, max(0, self._given[port] - log.listed.rows))
        self._given.clear()

    def _rest(self, error: SpoolError) -> None:
        self.failure, self._failed_ns = str(error), self._clock()
        self._pause_ns = min(max(FIRST_PAUSE_NS, 2 * self._pause_ns), LONGEST_PAUSE_NS)

    def _try_again(self) -> None:
        if self._clock() - self._failed_ns < self._pause_ns:
            return
        before, self._tried_ns = self.failure, self._clock()
        try:
            self._open_again()
        except SpoolError as error:
            if self._writer is not None:
                self._writer.abandon()
            self._rest(error)
            if self.failure != before:
                self._tell(f"{error}; it is tried again")
            return
        self.failure = None
        lost = self._unsaid.total()
        self._unsaid.clear()
        self._tell(f"{self._root}: it is written again; {lost:,} rows are lost")

    def _open_again(self) -> None:
        """Go on with the spool, or make it anew where its folder is gone. SpoolError."""
        if self._writer is not None and self._writer.is_there():
            self._go_on()
            return
        self._begin(None if self._waits is None else self._waits())
        self._end_again()
