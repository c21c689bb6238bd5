# SPDX-License-Identifier: Apache-2.0
"""The high level alone, over a spool: finished, or still growing."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gigastream.engine.events import Event
from gigastream.engine.statistics import Statistics
from gigastream.sessions.high_session import HighSession
from gigastream.sessions.shape import Closing
from gigastream.spool import END, NOTHING, Entry, SegmentDamage, Spool, Track, TrackProgress
from gigastream.spool.account import ReadAccount, StreamAccount

if TYPE_CHECKING:
    import pyarrow

    from gigastream.plan import Plan
    from gigastream.settings import Settings

POLL_SECONDS = 0.05
"""Between two looks at a spool that has nothing new."""
PATIENCE_SECONDS = 2.0
"""A writer that begins makes its streams one after the other, sooner than this."""
Push = tuple["pyarrow.RecordBatch | None", TrackProgress, bool]
"""(rows, what is promised behind them, is_end)."""


class _Feed:
    """A track on its way into the high level."""

    def __init__(self, track: Track) -> None:
        self.track = track
        self.is_over = False
        self.read = ReadAccount()
        self._waiting: deque[Entry] = deque()
        self._announced = TrackProgress((NOTHING,) * len(track.schema), NOTHING)
        self._look_due_s = 0.0

    @property
    def has_more(self) -> bool:
        """Whether something is listed that is not taken; looks at the spool now and then."""
        if not self._waiting and not self.is_over and time.monotonic() >= self._look_due_s:
            self._waiting.extend(self.track.poll())
            if not self._waiting:
                self._look_due_s = time.monotonic() + POLL_SECONDS
        return bool(self._waiting) and not self.is_over

    @property
    def base_ns(self) -> int:
        """How far it has come, in packet time."""
        return self._announced.base_ns

    @property
    def is_without_end(self) -> bool:
        """Whether damage hides what comes last, so that nobody need wait for it."""
        return not self._waiting and self.track.is_cut_off

    @property
    def bytes(self) -> tuple[int, int]:
        """Bytes of the segments taken, and of all that are listed."""
        return self.read.bytes, max(self.read.bytes, self.track.listed_bytes)

    @property
    def account(self) -> StreamAccount:
        """What was read so far."""
        return self.read.of(self.track)

    def take(self) -> Iterator[Push]:
        """The next entry: its rows under the bounds that held before, then what it says."""
        entry = self._waiting.popleft()
        self.read.take(entry)
        for batch in self._batches(entry):
            yield batch, self._announced, False
        self._announced = self._announced.advanced(*entry.progress)
        self.is_over = entry.kind == "end"
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
    ) -> None:
        """Open a plan over a spool; `plan` is of gigastream.spool.plan.plan_of_spools."""
        self._high = HighSession(
            plan, tuple(interfaces), settings, include=include, is_low_elsewhere=True
        )
        self._stopped = False
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
            feed = self._next()
            if feed is not None:
                yield self._pushed(feed, feed.take())
            elif all(feed.is_over or feed.is_without_end for feed in self._feeds):
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

    def statistics(self) -> Statistics:
        """The counters of the operators so far."""
        return self._high.statistics()

    def accounts(self) -> tuple[StreamAccount, ...]:
        """What was read so far."""
        return tuple(feed.account for feed in self._feeds)

    def position(self) -> tuple[int, int]:
        """Bytes read so far, and of all that is listed."""
        bytes_of = [feed.bytes for feed in self._feeds]
        return sum(done for done, _ in bytes_of), sum(total for _, total in bytes_of)

    @property
    def damage(self) -> list[str]:
        """What could not be read, a sentence each."""
        found = [*self.missing, *(text for feed in self._feeds for text in feed.track.damage)]
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
        return [_Feed(track) for port, track in tracks.items() if port in self._high.ports]

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
            self._high.push(track.stream, track.interface, rows, bounds, joint=joint, is_end=is_end)
            yield from self._high.batches()
