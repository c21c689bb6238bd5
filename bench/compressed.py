# SPDX-License-Identifier: Apache-2.0
"""Captures compressed whole, and in parts that do not need each other."""

from __future__ import annotations

import gzip
import shutil
import struct
import zlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import BinaryIO

from workloads import Capture

BLOCK_BYTES = 65_280
"""Of a BGZF block, as bgzip has it."""
FRAME_BYTES = 8 << 20
"""Of a zstd frame, as pzstd has it."""
LEVEL = 1
"""Of gzip: a file is made in seconds, and decompressed in the same time as others."""


def compressed(capture: Capture, form: str) -> Capture:
    """The same packets in one of the FORMS, made now if need be."""
    path = capture.path.with_suffix(f".{form}")
    if not path.exists():
        partial = path.with_suffix(".partial")
        with capture.path.open("rb") as source, partial.open("wb") as target:
            FORMS[form](source, target)
        partial.replace(path)
    return replace(capture, path=path)


def _gzip(source: BinaryIO, target: BinaryIO) -> None:
    with gzip.GzipFile(fileobj=target, mode="wb", compresslevel=LEVEL) as member:
        shutil.copyfileobj(source, member, 1 << 20)


def _bgzf(source: BinaryIO, target: BinaryIO) -> None:
    """By the SAM specification, section 4.1."""
    for content in (*_pieces(source, BLOCK_BYTES), b""):
        deflate = zlib.compressobj(LEVEL, wbits=-zlib.MAX_WBITS)
        data = deflate.compress(content) + deflate.flush()
        head = bytes.fromhex("1f8b08040000000000ff060042430200")
        target.write(head + struct.pack("<H", 18 + len(data) + 8 - 1) + data)
        target.write(struct.pack("<II", zlib.crc32(content), len(content)))


def _zstd(source: BinaryIO, target: BinaryIO) -> None:
    import pyarrow

    with pyarrow.CompressedOutputStream(target, "zstd") as frame:
        shutil.copyfileobj(source, frame, 1 << 20)


def _zstd_frames(source: BinaryIO, target: BinaryIO) -> None:
    import pyarrow

    codec = pyarrow.Codec("zstd")
    for content in _pieces(source, FRAME_BYTES):
        target.write(codec.compress(content, asbytes=True))


def _pieces(source: BinaryIO, size: int) -> Iterator[bytes]:
    while content := source.read(size):
        yield content


FORMS: dict[str, Callable[[BinaryIO, BinaryIO], None]] = {
    "gzip": _gzip,
    "bgzf": _bgzf,
    "zstd": _zstd,
    "zstd-frames": _zstd_frames,
}
