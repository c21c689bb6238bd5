# SPDX-License-Identifier: Apache-2.0
"""What libpcap gives at the end of a capture, by one that is slow."""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path

import pytest

from gigastream.engine.attached_set import AttachedSet
from gigastream.engine.engine import Engine
from gigastream.sources import libpcap
from gigastream.sources.live import LiveSettings, LiveSource
from tests.engine.stepping import plan_of

DEVICE = "slow"
RETIRE_MS, TAKES_MS = 2000, 4500
"""It looks for twice the first; who stands still for so long before it looks proves nothing."""


@pytest.fixture
def slow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ctypes.CDLL:
    """It is libpcap, and has a device."""
    made = tmp_path / "slow_libpcap.so"
    source = Path(__file__).with_name("slow_libpcap.c")
    flags = ["-D_GNU_SOURCE", "-O1", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared"]
    subprocess.run(["gcc", *flags, source, "-o", made], check=True)
    monkeypatch.setattr(libpcap, "shared_object", lambda: made)
    monkeypatch.setattr(libpcap, "devices", lambda: [DEVICE])
    return ctypes.CDLL(str(made))


def test_who_is_held_up_in_the_last_look_looks_once_more(slow: ctypes.CDLL) -> None:
    """The time in which all is handed over passes in a look that finds nothing."""
    source = LiveSource(
        DEVICE, DEVICE, LiveSettings(retire_ns=RETIRE_MS * 10**6, max_skew_ns=10**10)
    )
    plan = plan_of("SELECT timestamp, len FROM PKT", [DEVICE])
    with AttachedSet(plan) as queries, Engine() as engine:
        engine.add_link(source)
        engine.attach(queries)
        engine.start()
        engine.run(1, 0)
        engine.stop()
        slow.come_late(TAKES_MS)
        while engine.run(1, 1):
            pass
        assert engine.statistics()[0].read == 1
