# SPDX-License-Identifier: Apache-2.0
"""Memory stays where it is: over many sessions, and in a flood of groups that never come again."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest

from tests.captures import DEMO_CAPTURE, ROOT
from tests.processes import program
from tests.sanitizers import not_sanitized

WARM_SESSIONS, SESSIONS = 100, 300
SOME_PACKETS, MANY_PACKETS = 1_000_000, 5_000_000
MAX_GROUPS = 50_000
GROWTH_BYTES = 1_000_000
LIMIT_BYTES = 100_000_000


def _measured(*words: object) -> dict[str, Any]:
    command = [*program("tests.sanitize.footprint"), *map(str, words)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.long
def test_sessions_give_back_what_they_take() -> None:
    """The allocator may keep a page more now and then, not one more each time."""
    samples = _measured("sessions", SESSIONS, DEMO_CAPTURE)["samples"]
    growth = min(samples[-WARM_SESSIONS:]) - max(samples[:WARM_SESSIONS])
    assert growth < GROWTH_BYTES / 2, samples


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
