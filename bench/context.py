# SPDX-License-Identifier: Apache-2.0
"""What every question is given, and the figures that most of them end in."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from measure import Contender, Turns, in_turn
from report import Figure
from workloads import Capture, Workloads


@dataclass(frozen=True)
class Bench:
    """The captures and the patience of one session of measuring."""

    workloads: Workloads
    runs: int
    time_limit_seconds: float

    def captures(self, names: Iterable[str]) -> list[Capture]:
        """Those of the named captures whose material is here."""
        found = (self.workloads.get(name) for name in names)
        return [capture for capture in found if capture is not None]

    def in_turn(self, contenders: Mapping[str, Contender]) -> Turns:
        """Run the contenders in turn, as often as this session wants."""
        return in_turn(contenders, self.runs)


def speed(capture: Capture, turns: Turns, name: str) -> Figure:
    """The rate of one contender, or why there is none."""
    timing = turns.timings.get(name)
    rate = timing.million_packets_per_second if timing else None
    note = turns.failures.get(name, "")
    return Figure(capture.name, name, rate, "Mpacket/s", note=note)


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
) -> Figure:
    """Our rate over that of the fastest of the others."""
    what = f"{ours} / {'fastest loop' if len(others) > 1 else next(iter(others))}"
    missing = [name for name in (ours, *others) if name in turns.failures]
    if missing:
        return Figure(capture.name, what, None, "times", floor, goal, note=f"no {missing[0]}")
    fastest = min(others, key=lambda name: turns.timings[name].median_ns)
    ratio = turns.timings[fastest].median_ns / turns.timings[ours].median_ns
    note = f"({fastest})" if len(others) > 1 else ""
    return Figure(capture.name, what, ratio, "times", floor, goal, note=note)


def time_ratio(
    capture: Capture,
    turns: Turns,
    one: str,
    other: str,
    floor: float | None = None,
    goal: float | None = None,
    *,
    higher_is_better: bool = False,
) -> Figure:
    """The time of one contender over that of another."""
    what, missing = f"{one} / {other}", turns.failures.keys() & {one, other}
    ratio = None
    if not missing:
        ratio = turns.timings[one].median_ns / turns.timings[other].median_ns
    note = turns.failures[min(missing)] if missing else ""
    return Figure(capture.name, what, ratio, "times", floor, goal, higher_is_better, note)
