# SPDX-License-Identifier: Apache-2.0
"""Messages between the supervisor and the capture process: msgpack, with its length before it."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any, Generic, TypeVar

import msgspec

from gigastream.daemon.loader_messages import LoaderStart, LoaderWord
from gigastream.daemon.messages import Order, Report
from gigastream.late_dataclass import load_standard

load_standard()  # msgspec asks for it late
MAX_FRAME_BYTES = 64 << 20
LENGTH = struct.Struct("<I")
_Message = TypeVar("_Message")
UNREADABLE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
"""What msgspec raises of bytes that are no message."""


class FrameError(Exception):
    """What came is no frame: the other side is broken."""


def frame(message: Any) -> bytes:
    """A message as it goes over the channel. FrameError where it is too long."""
    packed = msgspec.msgpack.encode(message)
    if len(packed) > MAX_FRAME_BYTES:
        raise FrameError(f"a message of {len(packed):,} bytes")
    return LENGTH.pack(len(packed)) + packed


class FrameReader(Generic[_Message]):
    """Puts messages together from the bytes that come, in whatever pieces."""

    def __init__(self, decoder: msgspec.msgpack.Decoder[_Message]) -> None:
        self._decoder = decoder
        self._waiting = bytearray()

    def feed(self, received: bytes) -> Iterator[_Message]:
        """The messages that these bytes complete. FrameError."""
        self._waiting += received
        while len(self._waiting) >= LENGTH.size:
            (length,) = LENGTH.unpack_from(self._waiting)
            if length > MAX_FRAME_BYTES:
                raise FrameError(f"a frame of {length:,} bytes")
            end = LENGTH.size + length
            if len(self._waiting) < end:
                return
            packed = bytes(self._waiting[LENGTH.size : end])
            del self._waiting[:end]
            try:
                yield self._decoder.decode(packed)
            except UNREADABLE as error:
                raise FrameError(str(error)) from None


def order_reader() -> FrameReader[Order]:
    """Of what the supervisor says."""
    return FrameReader(msgspec.msgpack.Decoder(Order))


def report_reader() -> FrameReader[Report]:
    """Of what a capture process says."""
    return FrameReader(msgspec.msgpack.Decoder(Report))


def start_reader() -> FrameReader[LoaderStart]:
    """Of what a loader begins with."""
    return FrameReader(msgspec.msgpack.Decoder(LoaderStart))


def word_reader() -> FrameReader[LoaderWord]:
    """Of what a loader says."""
    return FrameReader(msgspec.msgpack.Decoder(LoaderWord))
