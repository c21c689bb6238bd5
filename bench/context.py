# SPDX-License-Identifier: Apache-2.0
"""What every question is given, and the figures that most of them end in."""

from __future__ import annotations

import math
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from measure import (
    CommandRun,
    Contender,
    LoopRun,
    OurRun,
    Samples,
    Turns,
    in_turn,
    widest_spread,
)
from parquet import ParquetRun
from report import Figure
from workloads import Capture, Workloads

CLOCKED = (CommandRun, LoopRun, OurRun, ParquetRun)
STEADY = 0.05
"""Of runs whose times differ by no more, two say as much as five."""


@dataclass(frozen=True)
class Bench:
    """The captures and the patience of one session of measuring."""

    workloads: Workloads
    runs: int
    time_limit_seconds: float
    least_runs: int = 0
    """Of a quick session: so many are enough if all of them agree; 0 makes all runs."""
    until: float = math.inf
    """Of `time.monotonic`: by then one counted run is enough."""
    clock: str | None = None
    """For all contenders that have one; None leaves each its own."""

    def captures(self, names: Iterable[str]) -> list[Capture]:
        """Those of the named captures whose material is here."""
        found = (self.workloads.get(name) for name in names)
        return [capture for capture in found if capture is not None]

    def compressed(self, name: str, kind: str) -> list[Capture]:
        """The named capture, compressed so; none where its material is not here."""
        return [self.workloads.compressed(capture, kind) for capture in self.captures((name,))]

    def in_turn(self, contenders: Mapping[str, Contender]) -> Turns:
        """Run the contenders in turn, as often as this session wants."""
        return in_turn(self._by_clock(contenders), self.runs, self._is_enough)

    def _by_clock(self, contenders: Mapping[str, Contender]) -> Mapping[str, Contender]:
        """By the session's clock, unless several cores shall make one of them quicker."""
        ours = [run for run in contenders.values() if isinstance(run, OurRun)]
        if self.clock is None or any(run.settings.get("jobs", 1) != 1 for run in ours):
            return contenders
        return {name: by_clock(run, self.clock) for name, run in contenders.items()}

    def _is_enough(self, samples: Samples) -> bool:
        runs = min((len(values) for values in samples.values()), default=0)
        if time.monotonic() > self.until:
            return runs >= 1
        return 0 < self.least_runs <= runs and widest_spread(samples) <= STEADY


def by_clock(run: Contender, clock: str) -> Contender:
    """The same contender by another clock, if it goes by one of these clocks at all."""
    return replace(run, clock=clock) if isinstance(run, CLOCKED) else run


def ends(rounds: Sequence[float]) -> dict[str, float]:
    """The least and the greatest of the rounds, as a figure has them; nothing of a single one."""
    return {"least": min(rounds), "greatest": max(rounds)} if len(rounds) > 1 else {}


def speed(capture: Capture, turns: Turns, name: str) -> Figure:
    """The rate of one contender, or why there is none."""
    timing = turns.timings.get(name)
    if timing is None:
        note = turns.failures.get(name, "")
        return Figure(capture.name, name, None, "Mpacket/s", note=note)
    rates = [1000 / sample for sample in timing.samples_ns]
    rate = timing.million_packets_per_second
    return Figure(capture.name, name, rate, "Mpacket/s", **ends(rates))


def speeds(capture: Capture, turns: Turns) -> list[Figure]:
    """The rates of all contenders of a turn."""
    return [speed(capture, turns, name) for name in (*turns.timings, *turns.failures)]


def rate_ratio(
    capture: Capture,
    turns: Turns,
    ours: str,
    others: Collection[str],
    floor: float | None = None,
    goal: float | None = None,
    target: float | None = None,
) -> Figure:
    """Our rate over that of the fastest of the others."""
    what = f"{ours} / {'fastest loop' if len(others) > 1 else next(iter(others))}"
    missing = [name for name in (ours, *others) if name in turns.failures]
    if missing:
        note = f"no {missing[0]}"
        return Figure(capture.name, what, None, "times", floor, goal, note=note, target=target)
    fastest = min(others, key=lambda name: turns.timings[name].median_ns)
    figure = time_ratio(capture, turns, fastest, ours, floor, goal, target, higher_is_better=True)
    note = f"({fastest})" if len(others) > 1 else ""
    return replace(figure, what=what, note=note)


def time_ratio(
    capture: Capture,
    turns: Turns,
    one: str,
    other: str,
    floor: float | None = None,
    goal: float | None = None,
    target: float | None = None,
    *,
    higher_is_better: bool = False,
) -> Figure:
    """The time of one contender over that of another; ours is that whose time should be less."""
    missing = turns.failures.keys() & {one, other}
    figure = Figure(capture.name, f"{one} / {other}", None, "times", floor, goal, target=target)
    ours, against = (other, one) if higher_is_better else (one, other)
    figure = replace(figure, higher_is_better=higher_is_better, ours=ours, against=against)
    if missing:
        return replace(figure, note=turns.failures[min(missing)])
    pair = (turns.timings[one], turns.timings[other])
    rounds = [a / b for a, b in zip(*(timing.samples_ns for timing in pair), strict=True)]
    ratio = pair[0].median_ns / pair[1].median_ns
    return replace(figure, value=ratio, **ends(rounds))
