# SPDX-License-Identifier: Apache-2.0
"""Bytes of a file, a pipe or a peer, as the formats read them; what is declared is bounded."""

from __future__ import annotations

import errno
import os
import select
from collections.abc import Callable

CHUNK_BYTES = 1 << 16
MAX_PIECE_BYTES = 1 << 26
"""Of what is asked for at once: a message of Arrow, the pages of a Parquet column."""

SHORT = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
"""Why nothing can be opened, and nobody be taken, for the time being."""


class TooLargeError(OSError):
    """Bytes are asked for, by what the input says of itself, that nobody should have to hold."""


class RecordInput:
    """A descriptor that is read; BrokenPipeError: nobody wants more of it.

    `writer` is the pipe that what is read goes into: its reader leaves when it has had enough.
    `before_wait` is called before it waits, since what was read so far must not. `is_cut` says at
    the end whether what stands there last may be a part of something.
    """

    closed = False

    def __init__(
        self,
        descriptor: int,
        writer: int,
        before_wait: Callable[[], None] | None = None,
        is_cut: Callable[[], bool] = lambda: False,
    ) -> None:
        self.is_cut = is_cut
        self._descriptor, self._writer = descriptor, writer
        self._before_wait = before_wait
        self._pushed = b""

    def some(self) -> bytes:
        """Return some bytes, none at the end."""
        if self._pushed:
            data, self._pushed = self._pushed, b""
            return data
        return self._read(CHUNK_BYTES)

    def peek(self, size: int) -> bytes:
        """Return the next bytes, which stay; fewer at the end."""
        while len(self._pushed) < size:
            data = self._read(CHUNK_BYTES)
            if not data:
                break
            self._pushed += data
        return self._pushed[:size]

    def read(self, size: int = -1) -> bytes:
        """Return exactly so many bytes, fewer at the end. TooLargeError."""
        if not 0 <= size <= MAX_PIECE_BYTES:
            raise TooLargeError(f"a piece of {size:,} bytes: {MAX_PIECE_BYTES:,} are the most")
        parts, left = [], size
        while left > 0:
            data = self.some()
            if not data:
                break
            parts.append(data[:left])
            self._pushed = data[left:]
            left -= len(parts[-1])
        return b"".join(parts)

    def close(self) -> None:
        """Do nothing: the descriptor is its opener's."""

    def _read(self, size: int) -> bytes:
        wait_readable(self._descriptor, self._writer, self._before_wait)
        return os.read(self._descriptor, size)


def wait_readable(
    descriptor: int, writer: int, before_wait: Callable[[], None] | None = None
) -> None:
    """Wait until a read would not wait. BrokenPipeError: nobody wants it any more."""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    poll.register(writer, 0)
    found = poll.poll(0)
    if not found:
        if before_wait is not None:
            before_wait()
        found = poll.poll()
    if any(each == writer for each, _ in found):
        raise BrokenPipeError


def wait_for_reader(writer: int, seconds: float) -> None:
    """Wait so long. BrokenPipeError: nobody wants more."""
    poll = select.poll()
    poll.register(writer, 0)
    if poll.poll(seconds * 1000):
        raise BrokenPipeError
