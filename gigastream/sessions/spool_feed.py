# SPDX-License-Identifier: Apache-2.0
"""A track of a spool on its way into the high level."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, islice
from typing import TYPE_CHECKING

from gigastream.liveness import Liveness, OnFailure
from gigastream.spool import (
    END,
    NOTHING,
    Entry,
    SegmentDamage,
    SpoolAwayError,
    Track,
    TrackProgress,
)
from gigastream.spool.account import ReadAccount, StreamAccount
from gigastream.spool.arrivals import Arrivals

if TYPE_CHECKING:
    import pyarrow

POLL_SECONDS = 0.05
"""Between two looks at a spool that has nothing new."""
AWAY_SECONDS = 0.5
"""Between two questions to a host that does not answer."""
_SECOND_NS = 10**9
Push = tuple["pyarrow.RecordBatch | None", TrackProgress, bool]
"""(rows, what is promised behind them, is_end)."""


class SpoolFeed:
    """A track on its way into the high level, behind the generations that it goes on with."""

    def __init__(
        self,
        track: Track,
        liveness: Liveness,
        clock: Callable[[], float],
        earlier: Sequence[Track] = (),
        which: int = 0,
        spool: str | None = None,
    ) -> None:
        """`which` of the high level's ports of this name, where several spools have it.

        `spool` is the path of one of several.
        """
        self._later = deque((*earlier, track))
        self._done: list[tuple[Track, ReadAccount]] = []
        self._arrivals = Arrivals(clock)
        self.track = self._later.popleft()
        self.liveness = liveness
        self.which = which
        self._spool = spool
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
        self._away_until_s = 0.0

    @property
    def has_more(self) -> bool:
        """Whether something is listed that is not taken; looks at the spool now and then."""
        if self._clock() < self._away_until_s:
            return False
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
        name = f"{self.track.stream} of {self.track.interface}"
        return name if self._spool is None else f"{name} of {self._spool}"

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
        return (read.of(track, self._spool) for track, read in self._read)

    @property
    def damage(self) -> list[str]:
        """What could not be read so far."""
        return [text for track, _ in self._read for text in track.damage]

    @property
    def _read(self) -> list[tuple[Track, ReadAccount]]:
        return [*self._done, (self.track, self.read)]

    def take(self) -> Iterator[Push]:
        """The next entry: its rows under the bounds that held before, then what it says."""
        entry = self._waiting[0]
        batches = self._batches(entry)
        try:
            first = list(islice(batches, 1))  # whose host may be away: then it is asked again
        except SpoolAwayError:
            self._away_until_s = self._clock() + AWAY_SECONDS
            return
        self._waiting.popleft()
        self.read.take(entry)
        for batch in chain(first, batches):
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
