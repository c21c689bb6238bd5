# SPDX-License-Identifier: Apache-2.0
"""Windows under two clocks are found, passed and left without a scan: the work is counted."""

from __future__ import annotations

import math
import subprocess
from pathlib import Path

import pytest

from tests.engine.windows_build import build

MANY = 30_000
COMPARISONS = 8
"""For each window and each halving of their number: two heaps, twice in, twice out."""


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("windows_driver.c", tmp_path_factory.mktemp("windows"))


@pytest.mark.parametrize("by", ["bound", "joint"])
@pytest.mark.parametrize("clocks", ["together", "against", "as they like"])
def test_no_scan(driver: Path, clocks: str, by: str) -> None:
    order = ["together", "against", "as they like"].index(clocks)
    words = [str(driver), str(MANY), str(order), str(int(by == "joint"))]
    done = subprocess.run(words, capture_output=True, text=True, timeout=900, check=True)
    left, wrong, comparisons, held = map(int, done.stdout.split())
    assert (left, wrong, held) == (MANY, 0, 0)
    assert comparisons < COMPARISONS * MANY * math.log2(MANY)
