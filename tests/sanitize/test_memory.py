# SPDX-License-Identifier: Apache-2.0
"""Memory stays where it is: over many sessions, and in a flood of groups that never come again."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
from typing import Any

import pytest

from tests.captures import DEMO_CAPTURE, ROOT
from tests.processes import program
from tests.sanitizers import not_sanitized

WARM, SESSIONS = 100, 300
CYCLE = 10  # sessions of every plan and every end
LEAK_BYTES = 100
SOME_PACKETS, MANY_PACKETS = 1_000_000, 5_000_000
MAX_GROUPS = 50_000
GROWTH_BYTES = 1_000_000
LIMIT_BYTES = 100_000_000


def _measured(*words: object, **environment: str) -> dict[str, Any]:
    command = [*program("tests.sanitize.footprint"), *map(str, words)]
    settings = {**os.environ, **environment}
    done = subprocess.run(
        command, cwd=ROOT, env=settings, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.long
@not_sanitized("its malloc does not say what it gave: LeakSanitizer finds what leaks")
def test_sessions_give_back_what_they_take() -> None:
    """Python's caches take a little more now and then, a dict twice as much once."""
    found = _measured("sessions", SESSIONS, DEMO_CAPTURE, PYTHONMALLOC="malloc")
    assert _least_growth(found["allocated"]) < CYCLE * LEAK_BYTES, found["allocated"]
    assert _least_growth(found["mapped"]) == 0, found["mapped"]


def _least_growth(samples: list[int]) -> int:
    """In bytes, of a cycle of sessions, the first ones apart: what leaks grows in each."""
    return min(after - before for before, after in itertools.pairwise(samples[WARM::CYCLE]))


@pytest.mark.long
@not_sanitized("what is freed is kept by AddressSanitizer, to see who touches it")
@pytest.mark.parametrize("kind", ["flood", "windows"])
@pytest.mark.parametrize(
    "packets", [SOME_PACKETS, pytest.param(MANY_PACKETS, marks=pytest.mark.slow)]
)
def test_a_flood_does_not_grow(kind: str, packets: int) -> None:
    """The table below evicts and the groups above are refused: counted, and no byte more."""
    found = _measured(kind, packets, MAX_GROUPS)
    assert found["read"] == found["accepted"] == packets
    assert found["rows"] == MAX_GROUPS
    assert found["refused"] == packets - MAX_GROUPS
    samples = found["samples"]
    assert max(samples) < LIMIT_BYTES
    assert max(samples[-5:]) - max(samples[: len(samples) // 2]) < GROWTH_BYTES, samples
