# SPDX-License-Identifier: Apache-2.0
"""A file, a pipe or a terminal that rows go to.

What cannot be written is an OSError. A pipe that nobody reads is waited for, but so that the wait
can be ended from another thread.
"""

from __future__ import annotations

import errno
import fcntl
import io
import os
import re
import select
import stat
import sys
import termios
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gigastream.destination import open_destination

STDOUT_DESCRIPTOR = 1
STDOUT_LABEL = "stdout"
_LOOK_UP_MS = 50
_OWN = re.compile(r"/dev/(stdin|stdout|stderr)|/(?:dev|proc/self)/fd/([0-9]{1,9})")
_STANDARD = ("stdin", "stdout", "stderr")

Identity = tuple[int, int]
"""Of a file, whatever its names: device and inode."""


class Abandoned(Exception):  # noqa: N818 - a state, asked for from outside
    """Nobody waits any more for who reads a pipe."""


class SameFileError(Exception):
    """The file is another one that this run reads or writes; `other` says which."""

    def __init__(self, other: str) -> None:
        super().__init__(other)
        self.other = other


class OutputFile(io.RawIOBase):
    """Bytes that are written at once and whole."""

    def __init__(self, descriptor: int, label: str, *, is_ours: bool, at: int = 0) -> None:
        """`is_ours`: made for this run, so that it is closed, and may be cut.

        `at`: how many bytes it has, which stay.
        """
        self.label = label
        self.waiting_since: float | None = None
        """When the reader of a pipe was last waited for, while it is."""
        self._descriptor = descriptor
        self._is_ours = is_ours
        mode = os.fstat(descriptor).st_mode
        self._is_file, self._is_pipe = stat.S_ISREG(mode), stat.S_ISFIFO(mode)
        self._is_dead = self._is_abandoned = False
        self._written = at

    def fileno(self) -> int:
        """Return its descriptor."""
        return self._descriptor

    def writable(self) -> bool:
        """Return that it is."""
        return True

    def tell(self) -> int:
        """Return the bytes written."""
        return self._written

    def write(self, data: Any) -> int:
        """Write all of it; nothing of it where the file is given up."""
        view = memoryview(data).cast("B")
        at = 0
        while at < len(view) and not self._is_dead:
            at += self._write_some(view[at:])
        self._written += at
        return len(view)

    def cut(self) -> None:
        """Empty a file that is ours. OSError."""
        if self._is_ours and self._is_file:
            os.ftruncate(self._descriptor, 0)

    def end_at(self, offset: int) -> None:
        """Take back what was written from there on, as far as can be; write nothing any more."""
        self._is_dead = True
        if self._is_ours and self._is_file:
            os.ftruncate(self._descriptor, offset)

    def abandon(self) -> None:
        """Wait for no reader any more: a write that does raises Abandoned. From any thread."""
        self._is_abandoned = True

    def close(self) -> None:
        """Close it, if it is ours. OSError: what was written may not be there."""
        if self.closed:
            return
        super().close()
        if self._is_ours:
            os.close(self._descriptor)

    def _write_some(self, view: memoryview) -> int:
        """Write a part; into a pipe so much as it has room for once it says that it has."""
        if not self._is_file:
            self._wait_for_reader()
            view = view[: self._room()]
        try:
            return os.write(self._descriptor, view)
        except BlockingIOError:  # somebody has told the pipe not to wait
            return 0

    def _room(self) -> int:
        """Return how much can be written without waiting, once poll says that something can be.

        Half of an empty pipe: the other half is for who else writes to it, as our stderr may.
        """
        if not self._is_pipe or _held(self._descriptor):
            return select.PIPE_BUF
        return max(select.PIPE_BUF, fcntl.fcntl(self._descriptor, fcntl.F_GETPIPE_SZ) // 2)

    def _wait_for_reader(self) -> None:
        room = select.poll()
        room.register(self._descriptor, select.POLLOUT)
        if room.poll(0):
            return
        self.waiting_since = time.monotonic()
        try:
            while not room.poll(_LOOK_UP_MS):
                if self._is_abandoned:
                    raise Abandoned
        finally:
            self.waiting_since = None


def _held(descriptor: int) -> bool:
    """Return whether a pipe has bytes that its reader has not taken."""
    return any(fcntl.ioctl(descriptor, termios.FIONREAD, bytes(4)))


def stdout_file(taken: Mapping[Identity, str]) -> OutputFile:
    """Return this process's stdout. SameFileError where it is a file of `taken`; OSError."""
    if sys.stdout is None:  # its descriptor may be that of another file by now
        raise OSError(errno.EBADF, "it is closed")
    _refuse(STDOUT_DESCRIPTOR, taken)
    return OutputFile(STDOUT_DESCRIPTOR, STDOUT_LABEL, is_ours=False)


def open_file(path: Path, taken: Mapping[Identity, str]) -> OutputFile:
    """Make a file, or open one that is none of `taken`, uncut. OSError, SameFileError."""
    own = _own_descriptor(path)
    if own is not None:
        _refuse(own, taken)
        return OutputFile(own, str(path), is_ours=False)
    descriptor = open_destination(path)
    try:
        _refuse(descriptor, taken)
        return OutputFile(descriptor, str(path), is_ours=True)
    except BaseException:
        os.close(descriptor)
        raise


def _own_descriptor(path: Path) -> int | None:
    """Return the descriptor of this process that a name such as /dev/stderr means. OSError.

    It is written as it is. Opened once more, a file would have a second position, from which what
    goes to the first one is written over; and a socket cannot be opened at all.
    """
    found = _OWN.fullmatch(str(path))
    if found is None:
        return None
    number = _STANDARD.index(found[1]) if found[1] else int(found[2])
    if fcntl.fcntl(number, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY:
        raise OSError(errno.EBADF, "it is not open for writing")
    return number


def identity(file: int | str | os.PathLike[str]) -> Identity | None:
    """Return what file a path or a descriptor is; None where it is none that could be cut."""
    try:
        status = os.stat(file)
    except (OSError, ValueError):
        return None
    return (status.st_dev, status.st_ino) if stat.S_ISREG(status.st_mode) else None


def _refuse(descriptor: int, taken: Mapping[Identity, str]) -> None:
    own = identity(descriptor)
    if own is not None and own in taken:
        raise SameFileError(taken[own])
