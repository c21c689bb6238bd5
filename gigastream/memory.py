# SPDX-License-Identifier: Apache-2.0
"""How much memory this process may have: its cgroup's limit (v2, v1), or the machine's memory."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from gigastream.late_dataclass import dataclass

PART = 2
"""Of what there is, one of so many parts is this process's unless it is told else."""
_LIMITS = {"": "memory.max", "memory": "memory.limit_in_bytes"}
"""By the controller that /proc/self/cgroup names: none is v2."""
_MAX_DIGITS = 20
"""Of 64 bits; a limit that is longer is none of the kernel's."""


@dataclass(frozen=True, slots=True)
class Budget:
    """What is this process's, and of what it is a half."""

    bytes: int
    origin: str


def default_budget(root: Path = Path("/")) -> int:
    """Half of the least limit that holds, in bytes."""
    return budget(root).bytes


def budget(root: Path = Path("/")) -> Budget:
    """The same, and who says so: a file of the cgroup, or the machine."""
    limits = [(_machine(), "this machine's memory"), *_cgroup_limits(root)]
    limit, origin = min(limits, key=lambda pair: pair[0])
    return Budget(limit // PART, origin)


def _machine() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _cgroup_limits(root: Path) -> Iterator[tuple[int, str]]:
    """The limits of this process's cgroups and of those that they are in.

    What is not as the kernel writes it says nothing: a container may have put anything there.
    """
    for line in _read(root / "proc/self/cgroup").split("\n"):
        _, _, rest = line.partition(":")
        controllers, colon, path = rest.partition(":")
        if not colon:
            continue
        for controller in set(controllers.split(",")) & set(_LIMITS):
            mounted = root / "sys/fs/cgroup" / controller
            for folder in (PurePosixPath(path), *PurePosixPath(path).parents):
                # in a container the path may be the host's: its own limit lies at the root
                file = mounted / str(folder).lstrip("/") / _LIMITS[controller]
                limit = _read(file).strip()
                if limit.isascii() and limit.isdecimal() and len(limit) <= _MAX_DIGITS:
                    yield (
                        int(limit),
                        f"the cgroup's limit ({os.fsencode(file).decode(errors='replace')})",
                    )


def _read(path: Path) -> str:
    try:
        return os.fsdecode(path.read_bytes())
    except (OSError, ValueError):  # ValueError: a path with a zero byte
        return ""
