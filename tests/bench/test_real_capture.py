# SPDX-License-Identifier: Apache-2.0
"""The long real capture: small ones joined on one clock, again and again on later ones."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import dpkt
import pytest
from captures import DEMO_CAPTURE, ROOT

JOIN = ROOT / "bench" / "join_real.py"
MINUTES = 3


def joined(tmp_path: Path, times: int) -> list[tuple[float, bytes]]:
    """The packets of a made corpus of two captures, so many times."""
    corpus = tmp_path / "pcaps" / "good"
    corpus.mkdir(parents=True, exist_ok=True)
    for name in ("one.pcap", "two.pcap"):
        shutil.copy(DEMO_CAPTURE, corpus / name)
    target = tmp_path / f"joined-{times}.pcap"
    size = ["--packets", "1", "--minutes", str(MINUTES), "--times", str(times)]
    environment = {**os.environ, "GIGASTREAM_PCAPS": str(corpus.parent)}
    subprocess.run([sys.executable, JOIN, target, *size], env=environment, check=True)
    with target.open("rb") as file:
        return list(dpkt.pcap.Reader(file))


def test_each_time_is_the_first_on_a_later_clock(tmp_path: Path) -> None:
    once, thrice = joined(tmp_path, 1), joined(tmp_path, 3)
    assert len(once) > 100
    assert len(thrice) == 3 * len(once)
    for number in range(3):
        part = thrice[number * len(once) : (number + 1) * len(once)]
        assert [frame for _, frame in part] == [frame for _, frame in once]
        for (now, _), (first, _) in zip(part, once, strict=True):
            assert now - first == pytest.approx(number * MINUTES * 60, abs=1e-6)


def test_time_never_goes_back(tmp_path: Path) -> None:
    times = [timestamp for timestamp, _ in joined(tmp_path, 4)]
    assert all(before <= after for before, after in pairwise(times))
    assert times[-1] - times[0] > 3 * MINUTES * 60


def test_nothing_is_left_beside_it(tmp_path: Path) -> None:
    joined(tmp_path, 2)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["joined-2.pcap", "pcaps"]
