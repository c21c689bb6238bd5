# SPDX-License-Identifier: Apache-2.0
"""Compressed streams of parts that do not need each other, by their specifications."""

from __future__ import annotations

import struct
import zlib

import pyarrow

BGZF_END = bytes.fromhex("1f8b08040000000000ff0600424302001b0003000000000000000000")
"""The empty block with which a BGZF file ends (the SAM specification, section 4.1.2)."""


def bgzf_block(content: bytes) -> bytes:
    """One block: a gzip member whose extra field BC has its length less one."""
    deflate = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    data = deflate.compress(content) + deflate.flush()
    length = 18 + len(data) + 8
    head = bytes.fromhex("1f8b08040000000000ff0600424302 00") + struct.pack("<H", length - 1)
    return head + data + struct.pack("<II", zlib.crc32(content), len(content))


def bgzf(content: bytes, block_bytes: int = 30_000) -> bytes:
    """What bgzip writes."""
    begins = range(0, len(content), block_bytes)
    return b"".join(bgzf_block(content[at : at + block_bytes]) for at in begins) + BGZF_END


def zstd_frames(content: bytes, frame_bytes: int = 30_000) -> bytes:
    """What pzstd writes: before each frame one to be skipped, with the frame's length."""
    codec, frames = pyarrow.Codec("zstd"), []
    for at in range(0, len(content), frame_bytes):
        frame = codec.compress(content[at : at + frame_bytes], asbytes=True)
        frames += [struct.pack("<III", 0x184D2A50, 4, len(frame)), frame]
    return b"".join(frames)
