# SPDX-License-Identifier: Apache-2.0
"""gzip streams, one member after the other; loaded where there is one.

zlib-ng inflates about twice as fast as zlib (docs/decisions.md), with the same bytes before damage.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, cast

from zlib_ng import zlib_ng

from gigastream.sources.decompress import (
    GZIP_MAGIC,
    READ_BYTES,
    CompressedInput,
    DamagedStreamError,
)

if TYPE_CHECKING:
    import zlib

_GZIP_FORMAT = 16 + zlib_ng.MAX_WBITS
_NO_MEMORY = "Error -4 "
_InflateError = cast("type[Exception]", zlib_ng.error)


def gzip_chunks(stream: CompressedInput) -> Iterator[bytes]:
    """Decompress all members of a gzip stream; DamagedStreamError, MemoryError."""
    member = _member()
    data = stream.read(READ_BYTES)
    while data:
        if member.eof and not (data := data.lstrip(b"\0")):
            data = stream.read(READ_BYTES)  # zeros that fill a block, as of a tape
            continue
        if member.eof:
            member = _next_member(data)
        yield from _member_chunks(member, data)
        data = member.unused_data or stream.read(READ_BYTES)
    if not member.eof:
        raise DamagedStreamError("the gzip stream ends too early")


def _member() -> zlib._Decompress:
    return cast("zlib._Decompress", zlib_ng.decompressobj(_GZIP_FORMAT))


def _next_member(data: bytes) -> zlib._Decompress:
    if not data.startswith(GZIP_MAGIC[: len(data)]):
        raise DamagedStreamError("what follows the gzip stream is no gzip")
    return _member()


def _member_chunks(member: zlib._Decompress, data: bytes) -> Iterator[bytes]:
    """All that these bytes give: where a chunk is full, there may be more behind the last byte."""
    is_full = False
    while (data or is_full) and not member.eof:
        before = member.copy()
        try:
            chunk = member.decompress(data, READ_BYTES)
        except _InflateError as error:
            if str(error).startswith(_NO_MEMORY):
                raise MemoryError from None
            yield from _rest(before, data)
            raise DamagedStreamError(f"the gzip stream is damaged ({error})") from None
        yield chunk
        data, is_full = member.unconsumed_tail, len(chunk) == READ_BYTES


def _rest(member: zlib._Decompress, data: bytes) -> Iterator[bytes]:
    """Return all before the damage: zlib keeps back what it had of a call that meets it."""
    with suppress(_InflateError):
        for at in range(-1, len(data)):  # first what came before
            byte = data[max(at, 0) : at + 1]
            while piece := member.decompress(byte, 1):
                yield piece
                byte = member.unconsumed_tail
