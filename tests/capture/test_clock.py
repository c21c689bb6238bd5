# SPDX-License-Identifier: Apache-2.0
"""The clock that is believed on a live link (OPERATORS section 2) against a model of it."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

Driver = Callable[..., list[str]]
Reading = tuple[int, int]


def believed(readings: list[Reading], max_skew: int) -> list[int]:
    """Monotonic + the least (wall - monotonic) over the last max_skew and the reading before it."""
    found = []
    for at, (now, _) in enumerate(readings):
        seen = readings[: at + 1]
        before = [wall - mono for mono, wall in seen if mono <= now - max_skew][-1:]
        within = [wall - mono for mono, wall in seen if mono > now - max_skew]
        found.append(now + min(before + within))
    return found


def answers(driver: Driver, readings: list[Reading], max_skew: int) -> list[int]:
    lines = "".join(f"{mono} {wall}\n" for mono, wall in readings)
    return [int(line) for line in driver("clock", max_skew, "-", stdin=lines.encode())]


def random_readings(rng: random.Random, max_skew: int, count: int) -> list[Reading]:
    """A wall clock that drifts, jumps and steps back, read about ten times in max_skew."""
    mono, wall, found = rng.randrange(10**9), 10**18, []
    for _ in range(count):
        passed = rng.randrange(1, max_skew // 5)
        mono += passed
        wall += passed + rng.choice([0, 0, 0, 1, -1, 10**10, -(10**10), 5])
        found.append((mono, wall))
    return found


@pytest.mark.parametrize("seed", range(20))
def test_the_clock_is_the_models(driver: Driver, seed: int) -> None:
    rng = random.Random(seed)
    max_skew = rng.choice([1000, 10**6, 2 * 10**9])
    readings = random_readings(rng, max_skew, 500)
    assert answers(driver, readings, max_skew) == believed(readings, max_skew)


@pytest.mark.parametrize("seed", range(5))
def test_more_readings_than_room_are_believed_less_never_more(driver: Driver, seed: int) -> None:
    rng, max_skew = random.Random(seed), 10**6
    steps = [(rng.randrange(1, 5000), rng.choice([0, 0, 7, -3])) for _ in range(3000)]
    readings, mono, wall = [], 0, 10**15
    for passed, drift in steps:
        mono, wall = mono + passed, wall + passed + drift
        readings.append((mono, wall))
    got, exact = answers(driver, readings, max_skew), believed(readings, max_skew)
    assert all(g <= e for g, e in zip(got, exact, strict=True))
    assert got != exact, "there was room for all of them"


def test_a_jump_is_believed_after_max_skew_and_a_step_back_at_once(driver: Driver) -> None:
    jump, step = 10**12, 10**11
    walls = [0, 0, jump, jump, jump, jump, jump - step]
    readings = [(at * 1000, at * 1000 + 10**15 + wall) for at, wall in enumerate(walls)]
    got = answers(driver, readings, 2000)
    offsets = [g - mono - 10**15 for g, (mono, _) in zip(got, readings, strict=True)]
    assert offsets == [0, 0, 0, 0, jump, jump, jump - step]
