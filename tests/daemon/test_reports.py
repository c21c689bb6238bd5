# SPDX-License-Identifier: Apache-2.0
"""What a capture process says of itself is what the kernel's longer texts say."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from gigastream.daemon import reports

IN_A_PROCESS_OF_ITS_OWN = """
import gc, re
from pathlib import Path
from gigastream.daemon.reports import rss_anon_bytes
gc.disable()
rss_anon_bytes()
held = bytearray(64 << 20)
told = rss_anon_bytes()
status = Path("/proc/self/status").read_text()
print(told, int(re.search(r"RssAnon:\\s*([0-9]+)", status)[1]) << 10)
"""


def test_memory_is_that_which_no_file_is_behind() -> None:
    """To 4 MiB: kernels keep the count by processor, and Python takes some between two looks."""
    command = [sys.executable, "-c", IN_A_PROCESS_OF_ITS_OWN]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    told, known = map(int, done.stdout.split())
    assert told == pytest.approx(known, abs=4 << 20)
    assert told > 64 << 20


@pytest.fixture
def still() -> Iterator[None]:
    """The collector closes no file of another test meanwhile."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("still")
def test_descriptors_are_those_that_are_open() -> None:
    before = reports.open_descriptors()
    assert before == len(os.listdir("/proc/self/fd")) - 1  # the folder itself
    opened = os.pipe()
    assert reports.open_descriptors() == before + 2
    for descriptor in opened:
        os.close(descriptor)
    assert reports.open_descriptors() == before


@pytest.mark.usefixtures("still")
def test_older_kernels_are_asked_for_all_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whose folder has no size."""
    known, sizeless = reports.open_descriptors(), os.stat(os.devnull)
    assert sizeless.st_size == 0
    with monkeypatch.context() as patched:
        patched.setattr(os, "stat", lambda _: sizeless)
        found = reports.open_descriptors()
    assert found == known
