# SPDX-License-Identifier: Apache-2.0
"""Files that cannot be written for want of room, in words: which one, and what to do."""

from __future__ import annotations

import errno

_ROOM = "make room on the disk of the cache, or let cache name a folder elsewhere"
_HINTS = {
    errno.ENOSPC: _ROOM,
    errno.EDQUOT: _ROOM,
    errno.EFBIG: "a greater limit of the size of files (ulimit -f, LimitFSIZE= of a service)",
}


def file_words(error: OSError, place: str) -> tuple[str, str | None]:
    """A message and a hint; `place` is what was written, where the error names no file."""
    what = error.strerror or str(error)
    return f"{error.filename or place}: {what}", _HINTS.get(error.errno or 0)
