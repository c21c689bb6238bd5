# SPDX-License-Identifier: Apache-2.0
"""What a capture process says of itself is what the kernel's longer texts say."""

from __future__ import annotations

import subprocess
import sys

import pytest

MEMORY = """
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
OPEN = """
import gc, os
from gigastream.daemon.reports import open_descriptors
gc.disable()
print(open_descriptors(), len(os.listdir("/proc/self/fd")) - 1)  # the folder itself
opened = os.pipe()
print(open_descriptors())
for descriptor in opened:
    os.close(descriptor)
print(open_descriptors())
"""
SIZELESS = """
import gc, os
from gigastream.daemon.reports import open_descriptors
gc.disable()
print(open_descriptors())
sizeless = os.stat(os.devnull)
assert sizeless.st_size == 0
os.stat = lambda _: sizeless
print(open_descriptors())
"""


def said(program: str) -> list[int]:
    """What a process of its own says, in which nobody else opens or closes anything meanwhile."""
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [int(word) for word in done.stdout.split()]


def test_memory_is_that_which_no_file_is_behind() -> None:
    """To 4 MiB: kernels keep the count by processor, and Python takes some between two looks."""
    told, known = said(MEMORY)
    assert told == pytest.approx(known, abs=4 << 20)
    assert told > 64 << 20


def test_descriptors_are_those_that_are_open() -> None:
    before, known, with_a_pipe, after = said(OPEN)
    assert before == known == after
    assert with_a_pipe == before + 2


def test_older_kernels_are_asked_for_all_of_them() -> None:
    """Whose folder has no size."""
    known, found = said(SIZELESS)
    assert found == known
