# SPDX-License-Identifier: Apache-2.0
"""Undoing gzip and zstd: as many bytes as the file still holds, and what broke it."""

from __future__ import annotations

import zlib

import pyarrow

GZIP_MAGIC = b"\x1f\x8b"
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
ZSTD_SKIPPABLE = b"\x2a\x4d\x18"
"""The last three bytes of a skippable frame's magic (RFC 8878 §3.1.2); the first is 5x."""

CHUNK_BYTES = 4096


def inflate(data: bytes) -> tuple[bytes, str | None]:
    """The uncompressed bytes of a file, and the damage that ended them (None: whole).

    A file that is not compressed comes back as it is.
    """
    if data.startswith(GZIP_MAGIC):
        return _gunzip(data)
    if data.startswith(ZSTD_MAGIC) or (data[1:4] == ZSTD_SKIPPABLE and data[0] >> 4 == 5):
        return _unzstd(data)
    return data, None


def _gunzip(data: bytes) -> tuple[bytes, str | None]:
    """All members of a gzip file, one after the other (RFC 1952 §2.2)."""
    plain = bytearray()
    while data.startswith(GZIP_MAGIC):
        data, damage = _member(data, plain)
        if damage is not None:
            return bytes(plain), damage
    return bytes(plain), "bytes after the last gzip member" if data.strip(b"\0") else None


def _member(data: bytes, plain: bytearray) -> tuple[bytes, str | None]:
    """Undo one member; what is left of the data, and the damage."""
    inflater = zlib.decompressobj(wbits=31)
    for start in range(0, len(data), CHUNK_BYTES):
        chunk, before = data[start : start + CHUNK_BYTES], inflater.copy()
        try:
            plain += inflater.decompress(chunk)
        except zlib.error as error:
            plain += _before_damage(before, chunk)
            return b"", f"gzip: {error}"
        if inflater.eof:
            return inflater.unused_data + data[start + CHUNK_BYTES :], None
    return b"", "gzip: the file ends within a member"


def _before_damage(inflater: zlib._Decompress, chunk: bytes) -> bytes:
    """Zlib gives nothing of a piece that it refuses: so one byte in and one byte out at a time."""
    plain = bytearray()
    try:
        for position in range(len(chunk)):
            piece = inflater.decompress(chunk[position : position + 1], 1)
            while piece:
                plain += piece
                piece = inflater.decompress(inflater.unconsumed_tail, 1)
    except zlib.error:
        pass
    return bytes(plain)


def _unzstd(data: bytes) -> tuple[bytes, str | None]:
    """All frames of a zstd file, through pyarrow's codec (the standard library has none)."""
    plain = bytearray()
    stream = pyarrow.CompressedInputStream(pyarrow.BufferReader(data), "zstd")
    while True:
        try:
            chunk = stream.read(CHUNK_BYTES)
        except OSError as error:
            return bytes(plain), f"zstd: {error}"
        if not chunk:
            return bytes(plain), None
        plain += chunk
