# SPDX-License-Identifier: Apache-2.0
"""The high level alone, over a spool: finished, or still growing."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gigastream.engine.events import Event
from gigastream.engine.statistics import Statistics
from gigastream.liveness import Liveness, OnFailure
from gigastream.plan.base_time import bounds_at
from gigastream.sessions.high_session import HighSession
from gigastream.sessions.shape import Closing
from gigastream.settings import Settings
from gigastream.spool import END, NOTHING, Entry, SegmentDamage, Spool, Track, TrackProgress
from gigastream.spool.account import ReadAccount, StreamAccount
from gigastream.spool.arrivals import Arrivals

if TYPE_CHECKING:
    import pyarrow

    from gigastream.plan import Plan

POLL_SECONDS = 0.05
"""Between two looks at a spool that has nothing new."""
_SECOND_NS = 10**9
PATIENCE_SECONDS = 2.0
"""A writer that begins makes its streams one after the other, sooner than this."""
Push = tuple["pyarrow.RecordBatch | None", TrackProgress, bool]
"""(rows, what is promised behind them, is_end)."""


class _Feed:
    """A track on its way into the high level, behind the generations that it goes on with."""

    def __init__(
        self,
        track: Track,
        liveness: Liveness,
        clock: Callable[[], float],
        earlier: Sequence[Track] = (),
    ) -> None:
        self._later = deque((*earlier, track))
        self._done: list[tuple[Track, ReadAccount]] = []
        self._arrivals = Arrivals(clock)
        self.track = self._later.popleft()
        self.liveness = liveness
        self.is_over = False
        self.is_failed = False
        """Nothing was listed for longer than its liveness, and nothing has been since."""
        self.failures = 0
        self._clock = clock
        self._heard_s: float | None = None
        self.read = ReadAccount()
        self._waiting: deque[Entry] = deque()
        self._announced = TrackProgress((NOTHING,) * len(track.schema), NOTHING)
        self._look_due_s = 0.0

    @property
    def has_more(self) -> bool:
        """Whether something is listed that is not taken; looks at the spool now and then."""
        if not self._waiting and not self.is_over and self._clock() >= self._look_due_s:
            self.look_again()
            if not self._waiting:
                self._look_due_s = self._clock() + POLL_SECONDS
        return bool(self._waiting) and not self.is_over

    def look_again(self) -> bool:
        """Look at the spool now; return whether something of it is not taken."""
        self._waiting.extend(self._arrivals.poll(self.track))
        while not self._waiting and self._later and not self._arrivals.are_awaited:
            self._done.append((self.track, self.read))
            self.track, self.read = self._later.popleft(), ReadAccount()
            self._waiting.extend(self._arrivals.poll(self.track))
        return self.are_awaited

    @property
    def are_awaited(self) -> bool:
        """Whether lines are not taken, be what they list there or on its way."""
        return bool(self._waiting) or self._arrivals.are_awaited

    @property
    def label(self) -> str:
        """Its name in messages."""
        return f"{self.track.stream} of {self.track.interface}"

    @property
    def interface(self) -> str:
        """Whose it is."""
        return self.track.interface

    @property
    def is_passed_over(self) -> bool:
        """Whether the others go on without it."""
        return self.is_failed and self.liveness.on_failure == OnFailure.GO_ON

    def look(self) -> bool:
        """Look whether it has failed; return whether it has done so now."""
        silence_ns, now = self.liveness.silence_ns, self._clock()
        if self.has_more or self._heard_s is None:
            self._heard_s, self.is_failed = now, False
        if silence_ns is None or self.is_over or self.is_failed:
            return False
        self.is_failed = (now - self._heard_s) * _SECOND_NS >= silence_ns
        self.failures += self.is_failed
        return self.is_failed

    def promise(self, base_ns: int, bounds: Sequence[int]) -> Push:
        """What is said in its place: that it is as far as others are."""
        self._announced = self._announced.advanced(bounds, base_ns)
        return None, self._announced, False

    @property
    def base_ns(self) -> int:
        """How far it has come, in packet time."""
        return self._announced.base_ns

    @property
    def is_without_end(self) -> bool:
        """Whether damage hides what comes last, so that nobody need wait for it."""
        return not self.are_awaited and not self._later and self.track.is_cut_off

    @property
    def bytes(self) -> tuple[int, int]:
        """Bytes of the segments taken, and of all that are listed."""
        taken = [read.bytes for _, read in self._read]
        listed = [max(read.bytes, track.listed_bytes) for track, read in self._read]
        return sum(taken), sum(listed)

    @property
    def accounts(self) -> Iterator[StreamAccount]:
        """What was read so far, a generation at a time."""
        return (read.of(track) for track, read in self._read)

    @property
    def damage(self) -> list[str]:
        """What could not be read so far."""
        return [text for track, _ in self._read for text in track.damage]

    @property
    def _read(self) -> list[tuple[Track, ReadAccount]]:
        return [*self._done, (self.track, self.read)]

    def take(self) -> Iterator[Push]:
        """The next entry: its rows under the bounds that held before, then what it says."""
        entry = self._waiting.popleft()
        self.read.take(entry)
        for batch in self._batches(entry):
            yield batch, self._announced, False
        is_end = entry.kind == "end"
        if is_end and self._later:
            return  # the next generation goes on from where rows had come
        self._announced = self._announced.advanced(*entry.progress)
        self.is_over = is_end
        yield None, self._announced, self.is_over

    def _batches(self, entry: Entry) -> Iterator[pyarrow.RecordBatch]:
        read = 0
        try:
            for batch in self.track.read(entry):
                yield batch
                read += batch.num_rows
        except SegmentDamage as damage:
            if damage.is_retired:
                self.read.retired_rows += damage.rows - read
            else:
                self.read.lost_rows += damage.rows - read

    def stop(self) -> Iterator[Push]:
        """Nothing more of it is read."""
        self.is_over = True
        yield None, TrackProgress((END,) * len(self.track.schema), END), True


class SpoolSession(Closing):
    """Like a Session, but what the LFTAs put out comes from a spool.

    Streams are read in the order of their punctuation, the one that is behind first, so that what
    waits for it stays small. Raises SpoolReadError, EngineError.
    """

    def __init__(
        self,
        spool: Spool,
        plan: Plan,
        interfaces: Mapping[str, object],
        settings: Settings | None = None,
        *,
        include: Sequence[Path] = (),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Open a plan over a spool; `plan` is of gigastream.spool.plan.plan_of_spools."""
        self._settings = settings or Settings()
        self._clock = clock
        self._nodes = {node.name: node for node in plan.low}
        self._high = HighSession(
            plan, tuple(interfaces), settings, include=include, is_low_elsewhere=True
        )
        self._stopped = False
        self._spool = spool
        self._alone_since_s: float | None = None
        self.is_deserted = False
        """Whether the spool's writer is gone, and has left it without an end."""
        self.missing: list[str] = []
        """Streams that the queries need and the spool does not have."""
        try:
            self._feeds = self._open_feeds(spool)
        except BaseException:
            self._high.close()
            raise

    def batches(self) -> Iterator[Event]:
        """The rows that are complete, as they become so, to the end of all streams or stop()."""
        for turn in self.turns():
            yield from turn

    def turns(self) -> Iterator[Iterable[Event]]:
        """The same, together what an entry brought; nothing, now and then, while none comes.

        What is given is to be looked through before the next is asked for.
        """
        while not self._stopped and not self._high.is_answered:
            self._look_for_failures()
            feed = self._next()
            if feed is not None:
                yield self._pushed(feed, feed.take())
                yield from self._follow()
            elif self._is_over:
                break
            elif self._is_left_alone():
                self.is_deserted = True
                break
            else:
                time.sleep(POLL_SECONDS)
                yield ()
        for feed in self._feeds:
            if not feed.is_over:
                yield self._pushed(feed, feed.stop())

    def stop(self) -> None:
        """End the input here: the open windows are answered. May be called by a signal handler."""
        self._stopped = True

    @property
    def watched(self) -> Sequence[_Feed]:
        """The streams, of which each says whether it has failed."""
        return self._feeds

    # ---- silence ----

    @property
    def _is_over(self) -> bool:
        """Whether nothing more comes of any stream that is waited for."""
        waited_for = [feed for feed in self._feeds if not feed.is_passed_over]
        return bool(waited_for) and all(f.is_over or f.is_without_end for f in waited_for)

    def _is_left_alone(self) -> bool:
        """Whether nothing more can come: nobody writes the spool, and all of it is taken.

        Who has said how long to wait is answered by that. A writer that is started again is not
        gone: it is given the time.
        """
        now_s = self._clock()
        is_asked = all(feed.liveness.silence_ns is None for feed in self._feeds)
        if not is_asked or self._spool.has_writer() is not False:
            self._alone_since_s = None
            return False
        self._alone_since_s = self._alone_since_s or now_s
        if now_s - self._alone_since_s < PATIENCE_SECONDS:
            return False
        # What it wrote before it let the lock go is listed by now.
        return not any(feed.look_again() for feed in self._feeds if not feed.is_over)

    def _look_for_failures(self) -> None:
        failed = [feed for feed in self._feeds if feed.look()]
        if any(feed.liveness.on_failure == OnFailure.END for feed in failed):
            self.stop()

    def _follow(self) -> Iterator[Iterable[Event]]:
        """Streams that are passed over are as far as the others."""
        missing = [feed for feed in self._feeds if feed.is_passed_over]
        others = [f.base_ns for f in self._feeds if not f.is_passed_over and not f.is_over]
        for feed in missing if others else ():
            bounds = bounds_at(self._nodes[feed.track.stream], min(others))
            yield self._pushed(feed, iter([feed.promise(min(others), bounds)]))

    def statistics(self) -> Statistics:
        """The counters of the operators so far."""
        return self._high.statistics()

    def accounts(self) -> tuple[StreamAccount, ...]:
        """What was read so far."""
        return tuple(account for feed in self._feeds for account in feed.accounts)

    def position(self) -> tuple[int, int]:
        """Bytes read so far, and of all that is listed."""
        bytes_of = [feed.bytes for feed in self._feeds]
        return sum(done for done, _ in bytes_of), sum(total for _, total in bytes_of)

    @property
    def damage(self) -> list[str]:
        """What could not be read, a sentence each."""
        found = [*self.missing, *(text for feed in self._feeds for text in feed.damage)]
        return list(dict.fromkeys(found))

    def close(self) -> None:
        """Give everything back; batches that were taken stay good."""
        self._high.close()

    # ---- streams ----

    def _open_feeds(self, spool: Spool) -> list[_Feed]:
        """A feed for every port; where its stream does not turn up there is nothing to wait for."""
        tracks = self._tracks(spool)
        for stream, interface in self._high.ports:
            if (stream, interface) not in tracks:
                self.missing.append(f"{spool.path} has no stream {stream} of {interface}")
                self._high.end(stream, interface)
        return [
            _Feed(
                track,
                self._settings.liveness_of(track.interface),
                self._clock,
                spool.earlier(track),
            )
            for port, track in tracks.items()
            if port in self._high.ports
        ]

    def _tracks(self, spool: Spool) -> dict[tuple[str, str], Track]:
        """By port; one whose stream another run has changed since the plan was made is not ours."""
        ours = spool.stream_hashes()
        until = time.monotonic() + PATIENCE_SECONDS
        while True:
            tracks = {
                (track.stream, track.interface): track
                for track in spool.tracks()
                if track.hash == ours.get(track.stream)
            }
            if time.monotonic() > until or set(self._high.ports) <= tracks.keys():
                return tracks
            time.sleep(POLL_SECONDS)

    def _next(self) -> _Feed | None:
        """Of those that have something to give, the one that is furthest behind."""
        ready = (feed for feed in self._feeds if feed.has_more)
        return min(ready, key=lambda feed: feed.base_ns, default=None)

    def _pushed(self, feed: _Feed, pushes: Iterator[Push]) -> Iterator[Event]:
        track = feed.track
        for rows, promised, is_end in pushes:
            bounds, _, joint = promised
            self._high.push(
                track.stream,
                track.interface,
                rows,
                bounds,
                joint=joint,
                is_heartbeat=rows is None,  # each line of a manifest is one
                is_end=is_end,
                is_missing=feed.is_passed_over,
            )
            yield from self._high.batches()
