# SPDX-License-Identifier: Apache-2.0
"""Time on a live link (OPERATORS §2, Ring): the clock believed, and packets that are held to it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tests.models.bounds import NEVER, Bound
from tests.models.source_time import HighTimestamp

LEAST_STEP_NS = 1_000_000
"""Two readings of a clock that nobody has set do not differ by as much."""


@dataclass(frozen=True)
class HeldPacket:
    """A packet as it enters: its timestamp, whether that was replaced, and what becomes of it."""

    timestamp: int
    carried: bool
    verdict: str
    """timely, late or skew."""


class BelievedClock:
    """Monotonic + the least (wall - monotonic) over the last max_skew and the reading before it."""

    def __init__(self, max_skew_ns: int) -> None:
        self._max_skew_ns = max_skew_ns
        self._readings: list[tuple[int, int]] = []
        self.steps: list[tuple[int, int]] = []
        """(monotonic time, size) of each step of the wall clock."""

    def believe(self, monotonic: int, wall: int) -> int:
        """Take a reading; return the time that is believed."""
        if self._readings:
            before, wall_before = self._readings[-1]
            step = (wall - monotonic) - (wall_before - before)
            if abs(step) >= LEAST_STEP_NS:
                self.steps.append((monotonic, step))
        self._readings.append((monotonic, wall))
        begin = monotonic - self._max_skew_ns
        earlier = [reading for reading in self._readings if reading[0] <= begin][-1:]
        within = [reading for reading in self._readings if reading[0] > begin]
        self._readings = earlier + within
        return monotonic + min(w - m for m, w in self._readings)


class RingTime:
    """W = max(H - slack, clock - max_skew); no timestamp is far from the clock, or lost for it."""

    def __init__(self, max_skew_ns: int, slack_ns: int) -> None:
        self._max_skew_ns, self._slack_ns = max_skew_ns, slack_ns
        self._clock = BelievedClock(max_skew_ns)
        self._high = HighTimestamp()
        self._raised_by_clock = False
        self._was_ahead = False
        self._carries_until: float = NEVER
        self._empty_at: float = NEVER
        self._rose_at: int | None = None
        self.promise: Bound = NEVER

    @property
    def high(self) -> Bound:
        """H, of the timestamps as they were replaced."""
        return self._high.value

    @property
    def steps(self) -> list[int]:
        """The sizes of the steps that are told."""
        return [size for _, size in self._clock.steps]

    def heartbeat(self, monotonic: int, wall: int, has_unread: bool) -> None:
        """Let the timer fire; the clock counts where all that had come was read by then."""
        believed = self._read_clock(monotonic, wall)
        if not has_unread:
            self._empty_at = monotonic
            self._raise(believed - self._max_skew_ns, by_clock=True)

    def burst(self, monotonic: int, wall: int, timestamps: Iterable[int]) -> list[HeldPacket]:
        """Read packets that came together, the clock being read after them."""
        stamped = list(timestamps)
        believed = self._read_clock(monotonic, wall)
        ahead = [t - believed for t in stamped if t > believed + self._max_skew_ns]
        if ahead and not self._was_ahead and not self._has_just_stepped(monotonic):
            self._clock.steps.append((monotonic, ahead[0]))
        self._was_ahead = bool(ahead)
        if ahead:
            self._expect_carried(monotonic, believed)
        return [self._packet(timestamp, monotonic, believed) for timestamp in stamped]

    def ask(self, monotonic: int, wanted: int) -> bool:
        """Want a promise of so much, all that has come having been read; whether it is given.

        H + time since H rose - slack (section 6): the whole of it, as soon as it is enough.
        """
        if self._rose_at is None:
            return False
        answer = self._high.value + (monotonic - self._rose_at) - self._slack_ns
        if answer < wanted or wanted <= self.promise:
            return False
        self._raise(answer, by_clock=True)
        return True

    def _read_clock(self, monotonic: int, wall: int) -> int:
        steps = len(self._clock.steps)
        believed = self._clock.believe(monotonic, wall)
        if len(self._clock.steps) > steps or believed < self.promise:
            self._expect_carried(monotonic, believed)
        self._carries_until = min(
            self._carries_until, monotonic + self._behind(believed) + self._max_skew_ns
        )
        return believed

    def _behind(self, believed: int) -> Bound:
        return max(0, self.promise - believed) if self.promise != NEVER else 0

    def _expect_carried(self, monotonic: int, believed: int) -> None:
        """What is stamped before the clock has come to W comes within max_skew after that."""
        self._carries_until = monotonic + self._behind(believed) + self._max_skew_ns

    def _has_just_stepped(self, monotonic: int) -> bool:
        return any(at >= monotonic - self._max_skew_ns for at, _ in self._clock.steps)

    def _packet(self, stamped: int, monotonic: int, believed: int) -> HeldPacket:
        timestamp = believed if stamped > believed + self._max_skew_ns else stamped
        if timestamp < self.promise:
            if believed < self.promise:
                self._expect_carried(monotonic, believed)
            came_at = max(self._empty_at, monotonic - max(0, believed - timestamp))
            if came_at <= self._carries_until:
                timestamp = int(self.promise)
        before = self._high.value
        self._high.observe(timestamp)
        if self._high.value != before:
            self._rose_at = monotonic
        self._raise(self._high.value - self._slack_ns, by_clock=False)
        verdict = "timely"
        if timestamp < self.promise:
            verdict = "skew" if self._raised_by_clock else "late"
        return HeldPacket(timestamp, timestamp != stamped, verdict)

    def _raise(self, promise: Bound, *, by_clock: bool) -> None:
        if promise > self.promise:
            self.promise, self._raised_by_clock = promise, by_clock
