# SPDX-License-Identifier: Apache-2.0
"""Pipes that the engine reads: of others, and those that a thread of ours feeds."""

from __future__ import annotations

import errno
import fcntl
import os
import resource
import select
import threading
from collections.abc import Callable
from contextlib import suppress

_PIPE_BYTES = 1 << 20
_SPARE_DESCRIPTORS = 16
"""That are left for outputs and libraries."""


def leave_room(*descriptors: int) -> None:
    """Raise OSError where what else a run opens would find no descriptor any more."""
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if 0 <= limit - _SPARE_DESCRIPTORS <= max(descriptors):
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))


def is_readable(descriptor: int) -> bool:
    """Whether a read would not wait; the end of a pipe counts, one without a writer so far not."""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(0))


def widen(pipe: int) -> None:
    """Ask for a pipe that holds a megabyte; what holds less, or is no pipe, is slower at most."""
    with suppress(OSError):
        if fcntl.fcntl(pipe, fcntl.F_GETPIPE_SZ) < _PIPE_BYTES:
            fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)


def fed_pipe(feed: Callable[[int], None]) -> tuple[int, threading.Thread]:
    """Start a thread that feeds a pipe; return what is read, which is the caller's to close.

    The writing end is the thread's to close. OSError: there are no descriptors or threads left.
    """
    reader, writer = os.pipe()
    thread = threading.Thread(target=feed, args=(writer,), daemon=True)
    try:
        leave_room(reader, writer)
        thread.start()
    except (OSError, RuntimeError) as problem:
        os.close(reader)
        os.close(writer)
        if isinstance(problem, OSError):
            raise
        raise OSError(errno.ENOMEM, str(problem)) from None
    return reader, thread
