# SPDX-License-Identifier: Apache-2.0
"""Compressed files whose parts do not need each other: several threads decompress them in order.

BGZF (the SAM specification, section 4.1) writes into each gzip member how long it is; zstd frames
(RFC 8878, section 3.1.1), of which pzstd and concatenated files have many, are found by the lengths
of their blocks. Whatever is no whole part, or too much to be held, is left in the stream for who
reads it piece by piece, up to the damage: both ways deliver the same bytes.
"""

from __future__ import annotations

import os
import zlib
from collections import deque
from collections.abc import Callable, Iterator
from itertools import chain, islice
from typing import TYPE_CHECKING, Protocol

from gigastream.late_dataclass import dataclass

if TYPE_CHECKING:
    from concurrent.futures import Future

MOST_THREADS = 4
_READ_BYTES = 1 << 18
_TASK_BYTES = 1 << 17
"""Compressed: a thread is given as many parts at once."""
_PART_BYTES = 1 << 23
"""A longer part, or one that is decompressed with a larger window, is not held."""
_CONTENT_BYTES = 1 << 24
"""What a task may become; of that there are as many as there are threads, and one more."""
_GZIP_FORMAT = 16 + zlib.MAX_WBITS
_BGZF_MAGIC = b"\x1f\x8b\x08\x04"
_BGZF_HEADER_BYTES = 18
_ZSTD_HEADER_BYTES = 14
"""The most where no dictionary is named."""
_FRAME_BLOCKS = 1 << 12
"""A frame of more is of blocks that are nearly empty, and not worth being divided."""
_SKIPPABLE_HEADER_BYTES = 8

_MORE, _NO_PART = 0, -1


class CompressedStream(Protocol):
    """What parts are taken from."""

    def read(self, size: int) -> bytes:
        """Return up to `size` bytes, none at the end."""

    def give_back(self, data: bytes) -> None:
        """Let `data`, which was read last, be read once more."""


@dataclass(frozen=True, slots=True)
class Division:
    """Where the parts of a compression are, and what is in them."""

    length: Callable[[bytearray, int], int]
    """Of the part that begins at an index; _MORE: it goes on behind what is there; or _NO_PART."""
    content: Callable[[bytes], bytes | None]
    """Of whole parts; None: they are damaged, or have too much of it."""


def thread_count() -> int:
    """How many threads decompress: as many as there are cores for this process."""
    return min(MOST_THREADS, len(os.sched_getaffinity(0)))


def side_by_side(stream: CompressedStream, division: Division, threads: int) -> Iterator[bytes]:
    """Decompress the parts that `stream` begins with; its rest is what was not delivered.

    Nothing is where there is work for one thread alone. Raises what `stream.read` does when nobody
    wants more (BrokenPipeError).
    """
    tasks = _Tasks(stream, division)
    try:
        found = iter(tasks)
        first = list(islice(found, 2))
        if len(first) < 2:
            return
        for content in _contents(chain(first, found), division, threads):
            if content is None:
                return
            tasks.undelivered.popleft()
            yield content
    finally:
        stream.give_back(tasks.rest)


def _contents(tasks: Iterator[bytes], division: Division, threads: int) -> Iterator[bytes | None]:
    """Of each task, in order."""
    from concurrent.futures import ThreadPoolExecutor

    waiting: deque[Future[bytes | None]] = deque()
    pool = ThreadPoolExecutor(threads, thread_name_prefix="decompress")
    try:
        for task in tasks:
            try:
                waiting.append(pool.submit(division.content, task))
            except (RuntimeError, MemoryError):
                break  # threads are short
            if len(waiting) > threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)


class _Tasks:
    """The whole parts that a stream begins with, so many together that a thread has work."""

    def __init__(self, stream: CompressedStream, division: Division) -> None:
        self._stream = stream
        self._division = division
        self._read = bytearray()
        self.undelivered: deque[bytes] = deque()
        """Given out, oldest first; who delivers one takes it away."""

    @property
    def rest(self) -> bytes:
        """What was read and not delivered."""
        return b"".join([*self.undelivered, self._read])

    def __iter__(self) -> Iterator[bytes]:
        end = 0
        while (length := self._length_at(end)) > 0:
            end += length
            if end >= _TASK_BYTES:
                yield self._cut(end)
                end = 0
        if end > 0:
            yield self._cut(end)

    def _length_at(self, begin: int) -> int:
        """Of the next part; at most 0: there is none that could be held."""
        while (length := self._division.length(self._read, begin)) == _MORE:
            there = len(self._read) - begin
            more = b"" if there > _PART_BYTES else self._more(max(_READ_BYTES, there))
            if not more:
                return _NO_PART
            self._read += more
        return length

    def _more(self, size: int) -> bytes:
        """Whoever reads on meets the error once more, behind what is delivered before."""
        try:
            return self._stream.read(size)
        except BrokenPipeError:
            raise
        except OSError:
            return b""

    def _cut(self, end: int) -> bytes:
        task = bytes(self._read[:end])
        del self._read[:end]
        self.undelivered.append(task)
        return task


def _bgzf_length(data: bytearray, at: int) -> int:
    """Of a gzip member whose only extra field says how long it is."""
    header = data[at : at + _BGZF_HEADER_BYTES]
    if not header.startswith(_BGZF_MAGIC[: len(header)]):
        return _NO_PART
    if len(header) < _BGZF_HEADER_BYTES:
        return _MORE
    if header[10:16] != b"\x06\x00BC\x02\x00":
        return _NO_PART
    length = int.from_bytes(header[16:], "little") + 1
    if length <= _BGZF_HEADER_BYTES:
        return _NO_PART
    return length if at + length <= len(data) else _MORE


def _bgzf_content(task: bytes) -> bytes | None:
    data, chunks, room = bytearray(task), list[bytes](), _CONTENT_BYTES
    begin = 0
    while begin < len(data):
        length = _bgzf_length(data, begin)
        member = zlib.decompressobj(_GZIP_FORMAT)
        try:
            chunks.append(member.decompress(memoryview(data)[begin : begin + length], room + 1))
        except (zlib.error, MemoryError):
            return None
        room -= len(chunks[-1])
        if room < 0 or not member.eof or member.unused_data:
            return None
        begin += length
    return b"".join(chunks)


def _zstd_length(data: bytearray, at: int) -> int:
    """Of a frame, or of one that is to be skipped."""
    header = data[at : at + _ZSTD_HEADER_BYTES]
    if len(header) < _ZSTD_HEADER_BYTES:
        return _MORE  # the last frames of a file may be shorter: they are read piece by piece
    magic, length = (int.from_bytes(header[i : i + 4], "little") for i in (0, 4))
    if magic & 0xFFFFFFF0 == 0x184D2A50:
        length += _SKIPPABLE_HEADER_BYTES
    elif magic != 0xFD2FB528 or (length := _zstd_header_length(header)) == _NO_PART:
        return _NO_PART
    else:
        return _zstd_blocks(data, at, length)
    if length > _PART_BYTES:
        return _NO_PART
    return length if at + length <= len(data) else _MORE


def _zstd_header_length(header: bytearray) -> int:
    """Of a frame without a dictionary that needs no more memory than its content may have."""
    says, is_single = header[4], header[4] >> 5 & 1
    if says & 0b1011:  # a dictionary, or a bit that means nothing so far
        return _NO_PART
    size_bytes = (is_single, 2, 4, 8)[says >> 6]
    begin = 5 if is_single else 6
    size = int.from_bytes(header[begin : begin + size_bytes], "little")
    window = size if is_single else (8 + (header[5] & 7)) << (header[5] >> 3) + 7
    return _NO_PART if max(size, window) > _CONTENT_BYTES else begin + size_bytes


def _zstd_blocks(data: bytearray, at: int, header_bytes: int) -> int:
    """The length of the frame, by its blocks."""
    end, is_last, blocks = at + header_bytes, 0, 0
    while not is_last:
        if (blocks := blocks + 1) > _FRAME_BLOCKS:
            return _NO_PART
        block = int.from_bytes(data[end : end + 3], "little")
        is_last, is_repeated = block & 1, block >> 1 & 3 == 1
        end += 3 + (1 if is_repeated else block >> 3)
        if end > len(data):
            return _MORE
    end += 4 * (data[at + 4] >> 2 & 1)  # its checksum
    return end - at if end <= len(data) else _MORE


def _zstd_content(task: bytes) -> bytes | None:
    import pyarrow

    try:
        source = pyarrow.CompressedInputStream(pyarrow.BufferReader(task), "zstd")
        content: bytes = source.read(_CONTENT_BYTES + 1)
    except (OSError, MemoryError):
        return None
    return content if len(content) <= _CONTENT_BYTES else None


DIVISIONS = {
    "gzip": Division(_bgzf_length, _bgzf_content),
    "zstd": Division(_zstd_length, _zstd_content),
}
