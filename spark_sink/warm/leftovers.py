# SPDX-License-Identifier: Apache-2.0
"""What a caller that was killed has left: the folder of its run."""

from __future__ import annotations

import os
import select
import shutil
import stat
from pathlib import Path

PREFIX = "gigastream-run-"
"""How the names of such folders begin: no other is removed."""


def is_a_runs(folder: Path) -> bool:
    """Whether it is the folder of a run, and of our user."""
    try:
        found = os.lstat(folder)
    except OSError:
        return False
    is_named = folder.is_absolute() and folder.name.startswith(PREFIX)
    return is_named and stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid()


def remove_behind(process: int, folder: Path) -> None:
    """Remove the folder of a run once its process is over, unless that has done so itself."""
    try:
        ended = os.pidfd_open(process)
    except ProcessLookupError:
        pass
    except (OSError, ValueError):  # a process that we cannot see
        return
    else:
        select.select([ended], [], [])
        os.close(ended)
    if is_a_runs(folder):
        shutil.rmtree(folder, ignore_errors=True)
