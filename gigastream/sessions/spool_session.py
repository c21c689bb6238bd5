# SPDX-License-Identifier: Apache-2.0
"""The high level alone, over spools of one or several hosts: finished, or still growing."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from gigastream.engine.events import Event
from gigastream.engine.statistics import Statistics
from gigastream.liveness import OnFailure
from gigastream.plan.base_time import bounds_at
from gigastream.sessions.high_session import HighSession
from gigastream.sessions.shape import Closing
from gigastream.sessions.spool_feed import POLL_SECONDS, Push, SpoolFeed
from gigastream.settings import Settings
from gigastream.spool import (
    Spool,
    SpoolAwayError,
    Track,
)
from gigastream.spool.account import StreamAccount

if TYPE_CHECKING:
    from gigastream.plan import Plan

PATIENCE_SECONDS = 2.0
"""A writer that begins makes its streams one after the other, sooner than this."""


class SpoolSession(Closing):
    """Like a Session, but what the LFTAs put out comes from spools.

    Streams are read in the order of their punctuation, the one that is behind first, so that what
    waits for it stays small. Raises SpoolReadError, EngineError.
    """

    def __init__(
        self,
        spools: Sequence[Spool],
        plan: Plan,
        interfaces: Sequence[Iterable[str]],
        settings: Settings | None = None,
        *,
        include: Sequence[Path] = (),
        clock: Callable[[], float] = time.monotonic,
        tell: Callable[[str], None] = lambda _: None,
        waits: bool = False,
        is_compiled: Callable[[], None] = lambda: None,
    ) -> None:
        """Open a plan over spools; `plan` is of gigastream.spool.plan.plan_of_spools.

        `interfaces` are those of each spool; two may have one of the same name. `tell` hears of
        hosts that do not answer, and that answer again. With `waits` spools that nobody writes for
        the moment are waited for. `is_compiled` is as HighSession has it.
        """
        self._waits = waits
        self._settings = settings or Settings()
        self._clock = clock
        self._nodes = {node.name: node for node in plan.low}
        self._tell = tell
        names = [tuple(each) for each in interfaces]
        self._high = HighSession(
            plan,
            tuple(chain(*names)),
            settings,
            include=include,
            is_low_elsewhere=True,
            is_compiled=is_compiled,
        )
        self._stopped = False
        self._alone_since_s: float | None = None
        self._feeds_of: dict[Spool, list[SpoolFeed]] = {}
        self._away: set[Spool] = set()
        self.deserted: list[str] = []
        """Paths of spools whose writers are gone, and have left them without an end."""
        self.missing: list[str] = []
        """Streams that the queries need and the spool does not have."""
        try:
            self._open_feeds(spools, names)
        except BaseException:
            self._high.close()
            raise
        self._feeds = [feed for feeds in self._feeds_of.values() for feed in feeds]

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
            self._look_for_absences()
            if feed is not None:
                yield self._pushed(feed, feed.take())
                yield from self._follow()
            elif self._is_over:
                break
            elif self._is_left_alone():
                self.deserted = [
                    spool.path
                    for spool, feeds in self._feeds_of.items()
                    if not all(feed.is_over for feed in feeds)
                ]
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
    def watched(self) -> Sequence[SpoolFeed]:
        """The streams, of which each says whether it has failed."""
        return self._feeds

    # ---- silence ----

    @property
    def _is_over(self) -> bool:
        """Whether nothing more comes of any stream that is waited for."""
        waited_for = [feed for feed in self._feeds if not feed.is_passed_over]
        return bool(waited_for) and all(f.is_over or f.is_without_end for f in waited_for)

    def _is_left_alone(self) -> bool:
        """Whether nothing more can come: nobody writes the spools, and all of them is taken.

        Who has said how long to wait is answered by that. A writer that is started again is not
        gone: it is given the time.
        """
        now_s = self._clock()
        is_asked = all(feed.liveness.silence_ns is None for feed in self._feeds)
        if self._waits or not is_asked or not all(map(_is_left, self._feeds_of)):
            self._alone_since_s = None
            return False
        self._alone_since_s = self._alone_since_s or now_s
        if now_s - self._alone_since_s < PATIENCE_SECONDS:
            return False
        # What it wrote before it let the lock go is listed by now.
        return not any(feed.look_again() for feed in self._feeds if not feed.is_over)

    def _look_for_absences(self) -> None:
        """Tell once of a host that does not answer, and once that it does again."""
        for spool, feeds in self._feeds_of.items():
            why = next((feed.track.away for feed in feeds if feed.track.away), None)
            if why is not None and spool not in self._away:
                self._away.add(spool)
                self._tell(f"{why}: {spool.path} is silent until it does")
            elif why is None and spool in self._away:
                self._away.remove(spool)
                self._tell(f"{spool.path} answers again")

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

    def _open_feeds(self, spools: Sequence[Spool], interfaces: Sequence[Sequence[str]]) -> None:
        """A feed for every port; where its stream does not turn up there is nothing to wait for."""
        known = Counter[tuple[str, str]]()
        are_several = len(spools) > 1
        for spool, names in zip(spools, interfaces, strict=True):
            ports = [port for port in dict.fromkeys(self._high.ports) if port[1] in names]
            tracks = self._tracks(spool, ports)
            self._feeds_of[spool] = [
                self._feed(spool, tracks[port], known[port], spool.path if are_several else None)
                for port in ports
                if port in tracks
            ]
            for port in ports:
                if port not in tracks:
                    self.missing.append(f"{spool.path} has no stream {port[0]} of {port[1]}")
                    self._high.end(*port, known[port])
            known.update(ports)

    def _feed(self, spool: Spool, track: Track, which: int, name: str | None) -> SpoolFeed:
        liveness = self._settings.liveness_of(track.interface)
        return SpoolFeed(track, liveness, self._clock, spool.earlier(track), which, name)

    def _tracks(
        self, spool: Spool, ports: Iterable[tuple[str, str]]
    ) -> dict[tuple[str, str], Track]:
        """By port; one whose stream another run has changed since the plan was made is not ours."""
        ours = spool.stream_hashes()
        until = time.monotonic() + PATIENCE_SECONDS
        while True:
            tracks = {
                (track.stream, track.interface): track
                for track in spool.tracks()
                if track.hash == ours.get(track.stream)
            }
            if time.monotonic() > until or set(ports) <= tracks.keys():
                return tracks
            time.sleep(POLL_SECONDS)

    def _next(self) -> SpoolFeed | None:
        """Of those that have something to give, the one that is furthest behind."""
        ready = (feed for feed in self._feeds if feed.has_more)
        return min(ready, key=lambda feed: feed.base_ns, default=None)

    def _pushed(self, feed: SpoolFeed, pushes: Iterator[Push]) -> Iterator[Event]:
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
                which=feed.which,
            )
            yield from self._high.batches()


def _is_left(spool: Spool) -> bool:
    """Whether nobody writes a spool, as far as that can be told."""
    with suppress(SpoolAwayError):
        return spool.has_writer() is False
    return False
