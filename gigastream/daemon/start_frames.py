# SPDX-License-Identifier: Apache-2.0
"""A capture process's start on its way to it: a frame of what is one, then a frame for each set.

Together the sets may be more than a frame holds; each one alone came in a request, which is less.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import msgspec
from msgspec.structs import replace

from gigastream.daemon.framing import LENGTH, frame
from gigastream.daemon.messages import AttachOrder, CaptureStart

_PIECE_BYTES = 1 << 20


class _Head(msgspec.Struct, frozen=True, kw_only=True):
    start: CaptureStart
    """Without its sets."""
    sets: int
    """That follow."""


def start_frames(start: CaptureStart) -> Iterator[bytes]:
    """The frames, in their order. FrameError."""
    yield frame(_Head(start=replace(start, sets=()), sets=len(start.sets)))
    yield from map(frame, start.sets)


def read_start(descriptor: int) -> CaptureStart | None:
    """Wait for the start, and read nothing of what is behind it; None: who had it is gone."""
    try:
        head = msgspec.msgpack.decode(_read_frame(descriptor), type=_Head)
        frames = (_read_frame(descriptor) for _ in range(head.sets))
        sets = tuple(msgspec.msgpack.decode(each, type=AttachOrder) for each in frames)
    except EOFError:
        return None
    return replace(head.start, sets=sets)


def _read_frame(descriptor: int) -> bytes:
    (length,) = LENGTH.unpack(_read(descriptor, LENGTH.size))
    return _read(descriptor, length)


def _read(descriptor: int, size: int) -> bytes:
    """So many bytes. EOFError."""
    found = bytearray()
    while len(found) < size:
        received = os.read(descriptor, min(size - len(found), _PIECE_BYTES))
        if not received:
            raise EOFError
        found += received
    return bytes(found)
