# SPDX-License-Identifier: Apache-2.0
"""A file that is whole before it has its name, which it takes from nobody."""

from __future__ import annotations

import errno
import os
from pathlib import Path

_NO_LINKS = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS)


def take_name(temporary: Path, path: Path) -> None:
    """Give a file the name `path`; `temporary` may be removed afterwards, if it is still there.

    Of two at once one gets it. Raises FileExistsError where one has it, OSError.
    """
    try:
        os.link(temporary, path)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        if os.path.lexists(path):  # on disks without second names two may look in one moment
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path)) from None
        temporary.rename(path)
