# SPDX-License-Identifier: Apache-2.0
"""How much memory this process has that no file backs, how much is allocated, how much mapped."""

from __future__ import annotations

import ctypes
import mmap
from pathlib import Path

_PR_SET_THP_DISABLE = 41
_KIB = 1024


def own_memory() -> int:
    """In bytes, page by page: the counter of /proc/self/status is exact to some pages of each CPU.

    From the first look on the kernel makes no huge pages of this process, which would be more than
    was touched, at a moment of its choosing.
    """
    ctypes.CDLL(None).prctl(_PR_SET_THP_DISABLE, 1, 0, 0, 0)
    lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Anonymous:")) * _KIB


class _MallocInfo(ctypes.Structure):
    """`struct mallinfo2` of glibc: of its ten counts the two that say what is in use."""

    _fields_ = [
        ("before", ctypes.c_size_t * 4),
        ("hblkhd", ctypes.c_size_t),
        ("between", ctypes.c_size_t * 2),
        ("uordblks", ctypes.c_size_t),
        ("after", ctypes.c_size_t * 2),
    ]


def allocated_memory() -> int:
    """What malloc has given and not taken back, in bytes, exactly.

    With PYTHONMALLOC=malloc it counts Python's objects, too. What a process *has* hides a leak for
    long: it grows into what was free before.
    """
    mallinfo2 = ctypes.CDLL(None).mallinfo2
    mallinfo2.restype = _MallocInfo
    info = mallinfo2()
    return int(info.hblkhd + info.uordblks)


def mapped_memory() -> int:
    """How much is mapped, touched or not, in bytes."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    return pages * mmap.PAGESIZE
