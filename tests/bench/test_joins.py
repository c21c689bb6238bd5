# SPDX-License-Identifier: Apache-2.0
"""The benchmark of a join's memory runs, small: packets from pipes, as many rows as must be."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from captures import ROOT

pytest.importorskip("numpy")
RATE, SECONDS = 2_000, 12


def test_the_memory_of_a_join_is_shown() -> None:
    command = [sys.executable, ROOT / "bench" / "joins.py", "memory"]
    command += ["--rate", str(RATE), "--seconds", str(SECONDS)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    said = re.findall(r"^(.+): ([\d,]+) rows; (NOT STEADY|steady): ", done.stdout, re.MULTILINE)
    # of so few packets a pipe holds seconds: what is held says which of two writers had to wait
    is_steady = all(verdict == "steady" for *_, verdict in said)
    assert done.returncode == (0 if is_steady else 1), done.stdout + done.stderr
    found = {name: int(count.replace(",", "")) for name, count, _ in said}
    # a packet meets one of its second on average; of a band of 20 ms one in fifty
    assert found["equality of seconds"] == pytest.approx(RATE * SECONDS, rel=0.1)
    assert found["band of 10 ms"] == pytest.approx(RATE * SECONDS / 50, rel=0.5)
