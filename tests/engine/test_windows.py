# SPDX-License-Identifier: Apache-2.0
"""Windows under two clocks are found, passed and left without a scan: the work is counted."""

from __future__ import annotations

import math
import subprocess
from pathlib import Path

import pytest

from tests.captures import ROOT

CSRC = ROOT / "csrc"
PARTS = ("hfta/windows.c", "base/*.c", "stream/punctuation.c", "stream/window.c")
FLAGS = ["-std=c11", "-D_GNU_SOURCE", "-O1", "-g", "-Wall", "-Wextra", "-Werror"]
SANITIZERS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
MANY = 30_000
COMPARISONS = 8
"""For each window and each halving of their number: two heaps, twice in, twice out."""


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = tmp_path_factory.mktemp("windows") / "driver"
    files = [
        Path(__file__).with_name("windows_driver.c"),
        *(f for p in PARTS for f in CSRC.glob(p)),
    ]
    options = [*FLAGS, *SANITIZERS, f"-I{CSRC}", f"-I{CSRC / 'abi'}", "-o", str(program)]
    subprocess.run(["gcc", *options, *map(str, files)], check=True)
    return program


@pytest.mark.parametrize("by", ["bound", "joint"])
@pytest.mark.parametrize("clocks", ["together", "against", "as they like"])
def test_no_scan(driver: Path, clocks: str, by: str) -> None:
    order = ["together", "against", "as they like"].index(clocks)
    words = [str(driver), str(MANY), str(order), str(int(by == "joint"))]
    done = subprocess.run(words, capture_output=True, text=True, timeout=900, check=True)
    left, wrong, comparisons, held = map(int, done.stdout.split())
    assert (left, wrong, held) == (MANY, 0, 0)
    assert comparisons < COMPARISONS * MANY * math.log2(MANY)
