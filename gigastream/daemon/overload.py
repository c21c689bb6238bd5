# SPDX-License-Identifier: Apache-2.0
"""What is given up while the host cannot follow, and when it comes back. No I/O, no clock.

The capture process looks once a turn or once a report, and does what the decision says. Under
`sample` 1 in 2^shift flows is looked at; under `shed` the sets of least priority rest. Both give up
in steps, and wait after each until it can have shown what it was worth; both take back one step at
a time, after calm. A step back that brought overload at once is tried again after twice the wait.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from gigastream.daemon.messages import OverloadSettings, RingStatistics
from gigastream.late_dataclass import dataclass, field

STEP_NS = 250_000_000
"""From one step to the next: a ring empties meanwhile, if the step was enough."""
NEARLY_FULL_PERCENT = 90
"""Of a ring, where two steps are taken at once: packets will be dropped, or are."""
MOST_WAITS = 64
"""How many times calm_ns the wait before a step back becomes at the most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """How the capture process does."""

    at_ns: int
    """CLOCK_MONOTONIC."""
    ring_percent: int
    """Of the fullest ring."""
    dropped: int = 0
    """Packets that the kernel has dropped for full rings so far, of all links."""
    output_percent: int = 0
    """Of the fullest queue of an output."""

    @property
    def percent(self) -> int:
        """Of the fullest queue of all."""
        return max(self.ring_percent, self.output_percent)


def fullest_percent(rings: Iterable[RingStatistics]) -> int:
    """Of the fullest ring; 0 where there is none."""
    return max((100 * ring.used // max(1, ring.blocks) for ring in rings), default=0)


@dataclass(frozen=True, slots=True)
class Decision:
    """What is to be so from now on."""

    shift: int = 0
    """1 in 2^shift flows is looked at (Engine.sample)."""
    resting: frozenset[str] = frozenset()
    """Sets that are to be detached until they are no more in here."""


@dataclass(frozen=True, slots=True)
class _Verdict:
    """What a load is taken for; it may be neither of the two."""

    is_overloaded: bool
    is_calm: bool
    dropped: int
    """Packets since the look before."""


@dataclass(slots=True)
class _Patience:
    """How long calm must have lasted before a step back, in units of calm_ns."""

    waits: int = 1
    taken_back_ns: int | None = None
    """When the step back was made that is on probation."""

    def judge(self, load: Load, calm_ns: int, verdict: _Verdict) -> bool:
        """Whether a step back on probation has failed: then the next waits twice as long.

        A great ring may fill for longer than calm_ns: only calm ends the probation well.
        """
        if self.taken_back_ns is None:
            return False
        if verdict.is_overloaded:
            self.waits, self.taken_back_ns = min(MOST_WAITS, 2 * self.waits), None
            return True
        if verdict.is_calm and load.at_ns - self.taken_back_ns >= calm_ns:
            self.waits, self.taken_back_ns = max(1, self.waits // 2), None
        return False


@dataclass(slots=True)
class OverloadController:
    """Decides under one policy; its state is what has been given up, and since when."""

    settings: OverloadSettings
    _shift: int = 0
    _sampling: _Patience = field(default_factory=_Patience)
    _resting: list[str] = field(default_factory=list)
    """In the order in which they went to rest."""
    _sets: dict[str, _Patience] = field(default_factory=dict)
    _dropped: int = 0
    _calm_since_ns: int | None = None
    _judged: Load | None = None
    """When something was given up last, or looked at whether that is enough; None: in calm."""

    def look(self, load: Load, priorities: Mapping[str, int]) -> Decision:
        """Look at the load; `priorities` are those of all sets there are, resting or not.

        Of equal priority the set that was added last rests first.
        """
        verdict = self._verdict(load)
        if self.settings.policy == "sample":
            self._sample(load, verdict)
        elif self.settings.policy == "shed":
            self._shed(load, verdict, priorities)
        return Decision(self._shift, frozenset(self._resting))

    def _verdict(self, load: Load) -> _Verdict:
        dropped, self._dropped = load.dropped - self._dropped, load.dropped
        is_overloaded = dropped > 0 or load.percent >= self.settings.high_percent
        is_calm = not is_overloaded and load.percent < self.settings.low_percent
        if is_calm:
            self._judged = None
        else:
            self._calm_since_ns = None
        if is_calm and self._calm_since_ns is None:
            self._calm_since_ns = load.at_ns
        return _Verdict(is_overloaded, is_calm, dropped)

    # ---- sampling ----

    def _sample(self, load: Load, verdict: _Verdict) -> None:
        self._sampling.judge(load, self.settings.calm_ns, verdict)
        if verdict.is_overloaded and self._shift < self.settings.most and self._may_step(load):
            is_urgent = verdict.dropped > 0 or load.ring_percent >= NEARLY_FULL_PERCENT
            self._shift = min(self.settings.most, self._shift + (2 if is_urgent else 1))
        elif self._shift > 0 and self._may_take_back(load, self._sampling):
            self._shift -= 1

    # ---- shedding ----

    def _shed(self, load: Load, verdict: _Verdict, priorities: Mapping[str, int]) -> None:
        self._forget(priorities)
        failed = [
            name
            for name, patience in self._sets.items()
            if patience.judge(load, self.settings.calm_ns, verdict)
        ]
        if verdict.is_overloaded:
            self._rest(load, priorities, failed)
        elif self._resting:
            name = max(self._resting, key=lambda name: _rank(name, priorities))
            if self._may_take_back(load, self._sets[name]):
                self._resting.remove(name)

    def _forget(self, priorities: Mapping[str, int]) -> None:
        """Of sets that were dropped nothing is kept."""
        self._resting = [name for name in self._resting if name in priorities]
        self._sets = {name: self._sets.get(name, _Patience()) for name in priorities}

    def _rest(self, load: Load, priorities: Mapping[str, int], failed: list[str]) -> None:
        """Let one set rest: who has just come back, or the least. The last one never does."""
        awake = [name for name in priorities if name not in self._resting]
        if len(awake) < 2 or not (self._may_step(load) or failed):
            return
        self._judged = load
        least = min(awake, key=lambda name: _rank(name, priorities))
        self._resting.append(failed[0] if failed else least)

    # ---- both ----

    def _may_step(self, load: Load) -> bool:
        """What was given up last has been given its time, and has not been enough."""
        before = self._judged
        if before is not None and load.at_ns - before.at_ns < STEP_NS:
            return False
        self._judged = load
        return before is None or load.percent >= before.percent or load.percent == 100

    def _may_take_back(self, load: Load, patience: _Patience) -> bool:
        if self._calm_since_ns is None:
            return False
        if load.at_ns - self._calm_since_ns < patience.waits * self.settings.calm_ns:
            return False
        patience.taken_back_ns = self._calm_since_ns = load.at_ns
        return True


def _rank(name: str, priorities: Mapping[str, int]) -> tuple[int, int]:
    """Who rests later is greater: by priority, then who was there first."""
    return priorities[name], -list(priorities).index(name)


def told(before: Decision, after: Decision) -> tuple[str, ...]:
    """What a person is told of a change, a line each."""
    lines = []
    if after.shift > before.shift:
        lines.append(f"overload: 1 in {1 << after.shift:,} flows is looked at")
    elif after.shift < before.shift and after.shift > 0:
        lines.append(f"calm: 1 in {1 << after.shift:,} flows is looked at")
    elif after.shift < before.shift:
        lines.append("calm: every flow is looked at")
    lines += [f"overload: set {name} rests" for name in sorted(after.resting - before.resting)]
    lines += [f"calm: set {name} is back" for name in sorted(before.resting - after.resting)]
    return tuple(lines)
