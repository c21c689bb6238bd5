# SPDX-License-Identifier: Apache-2.0
"""The lock of a spool's folder: who writes holds it, and the system frees it at a process's end."""

from __future__ import annotations

import fcntl
import os
import time
from contextlib import suppress
from pathlib import Path

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_ATTEMPTS = 20
_PAUSE_SECONDS = 0.01
_MOUNTS = "/proc/self/mountinfo"
_OF_SEVERAL_HOSTS = (
    "nfs",
    "cifs",
    "smb",
    "9p",
    "ceph",
    "fuse",
    "lustre",
    "gpfs",
    "afs",
    "virtiofs",
)
"""Beginnings of filesystems on which another host's lock may not be seen."""


def lock_folder(path: Path | str, within: int | None = None) -> int:
    """Return a descriptor that holds a folder for this process; the system frees it at its end.

    `within`: the descriptor of a folder from which the path leads.
    Raises BlockingIOError while another process holds it. One that only asks whether somebody does
    (`is_locked`) is out of the way sooner than we give up.
    """
    descriptor = os.open(path, _FOLDER, dir_fd=within)
    try:
        _lock(descriptor)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def _lock(descriptor: int) -> None:
    for _ in range(_ATTEMPTS):
        with suppress(BlockingIOError):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        time.sleep(_PAUSE_SECONDS)
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def is_locked(path: str) -> bool | None:
    """Return whether a process holds a folder; None where that cannot be told.

    So it is where the process may be another host's.
    """
    if _is_shared(path):
        return None
    try:
        descriptor = os.open(path, _FOLDER)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return False
    except BlockingIOError:
        return True
    except OSError:
        return None
    finally:
        os.close(descriptor)


def _is_shared(path: str) -> bool:
    """Whether a folder's filesystem may be another host's, too, or is not known."""
    try:
        device = os.stat(path).st_dev
        with open(_MOUNTS, encoding="utf-8", errors="replace") as mounts:
            kinds = [_kind(line) for line in mounts if line.split()[2] == _number(device)]
    except OSError:
        return True
    # A subvolume has a number that no mount shows: it is of this host.
    return any(kind.startswith(_OF_SEVERAL_HOSTS) for kind in kinds)


def _number(device: int) -> str:
    return f"{os.major(device)}:{os.minor(device)}"


def _kind(mount: str) -> str:
    """The type of a filesystem: the first word behind the dash (proc(5))."""
    return mount.partition(" - ")[2].split()[0]
