# SPDX-License-Identifier: Apache-2.0
"""Compressed captures: a thread reads one and writes what is in it into a pipe.

The engine reads the other end as it reads any pipe. What is decompressed before the stream turns
out to be damaged is delivered; then the pipe ends, and `damage` says what was found.
"""

from __future__ import annotations

import os
import select
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

from gigastream.sources.pipes import fed_pipe, widen

if TYPE_CHECKING:
    import pyarrow

MAGIC_BYTES = 4
GZIP_MAGIC = b"\x1f\x8b"
READ_BYTES = 1 << 16
_PAGE_BYTES = 1 << 12
_PATIENCE_SECONDS = 5
"""With a thread that ends; a file system that does not answer may keep one."""
_ZSTD_REASONS = {
    "not enough memory": "no memory left for the zstd stream",
    "too much memory": "the zstd stream needs a window of more than 128 MiB, the most that is held:"
    " decompress it with `zstd -d --long=31` first",
    "Dictionary mismatch": "the zstd stream needs a dictionary, which is not known here:"
    " decompress it with `zstd -d -D DICTIONARY` first",
    "Unknown frame descriptor": "what follows the zstd stream is no zstd",
    "Truncated": "the zstd stream ends too early",
}


class DamagedStreamError(Exception):
    """A compressed stream that cannot be read on."""


class CannotDecompressError(OSError):
    """What decompresses such a stream cannot be loaded."""


def compression_of(first_bytes: bytes) -> str | None:
    """Return `gzip`, `zstd` or None for the first four bytes of a stream."""
    if first_bytes.startswith(GZIP_MAGIC):
        return "gzip"
    magic = int.from_bytes(first_bytes[:MAGIC_BYTES], "little")
    is_skippable_frame = magic & 0xFFFFFFF0 == 0x184D2A50
    return "zstd" if magic == 0xFD2FB528 or is_skippable_frame else None


class Decompression:
    """One compressed stream on its way into a pipe."""

    def __init__(self, descriptor: int, compression: str, first_bytes: bytes = b"") -> None:
        """Take over an open descriptor, and what was read of it; nothing is before `start`.

        CannotDecompressError.
        """
        self._input = CompressedInput(descriptor, first_bytes)
        try:
            self._chunks = _CHUNKS[compression](self._input)
        except (ImportError, MemoryError) as problem:
            text = f"{compression} cannot be decompressed here: {problem or 'no memory left'}"
            raise CannotDecompressError(text) from None
        self.total_bytes = os.fstat(descriptor).st_size
        self.damage: str | None = None
        self._thread: threading.Thread | None = None

    @property
    def bytes_taken(self) -> int:
        """Compressed bytes read so far."""
        return self._input.bytes_taken

    def start(self) -> int:
        """Start the thread; return the descriptor to read from, the caller's to close. OSError."""
        reader, self._thread = fed_pipe(self._run)
        return reader

    def wait_for_end(self) -> None:
        """Wait until the thread has given back what it has open: when nobody reads, it does."""
        if self._thread is not None:
            self._thread.join(_PATIENCE_SECONDS)

    def _run(self, writer: int) -> None:
        """Deliver everything; the damage is known before the pipe ends."""
        widen(writer)
        self._input.reader_leaves(writer)
        try:
            for chunk in self._chunks:
                _write_all(writer, chunk)
        except BrokenPipeError:
            pass  # the reader has had enough
        except (DamagedStreamError, OSError) as error:
            self.damage = f"{error}, at byte {self.bytes_taken:,} of the compressed stream"
        except MemoryError:
            self.damage = f"no memory left, at byte {self.bytes_taken:,} of the compressed stream"
        except BaseException as error:
            self.damage = f"{type(error).__name__}: {error}"  # never as if it was whole
            raise
        finally:
            os.close(writer)
            self._input.release()


class CompressedInput:
    """The compressed bytes, counted as they are taken; as much of a file as pyarrow asks for."""

    closed = False

    def __init__(self, descriptor: int, first_bytes: bytes) -> None:
        self._descriptor = descriptor
        self._first_bytes = first_bytes
        offset = _offset(descriptor)
        self._begin = None if offset is None else offset - len(first_bytes)
        self._writer = -1
        self.bytes_taken = 0

    def reader_leaves(self, writer: int) -> None:
        """Say by which pipe it is seen that nobody wants more."""
        self._writer = writer

    def read(self, size: int) -> bytes:
        """Return up to `size` bytes, none at the end; BrokenPipeError: nobody wants more."""
        data, self._first_bytes = self._first_bytes[:size], self._first_bytes[size:]
        if not data:
            self._wait()
            data = os.read(self._descriptor, size)
        self.bytes_taken += len(data)
        return data

    def _wait(self) -> None:
        poll = select.poll()
        poll.register(self._descriptor, select.POLLIN)
        poll.register(self._writer, 0)
        if any(descriptor == self._writer for descriptor, _ in poll.poll()):
            raise BrokenPipeError

    @property
    def is_file(self) -> bool:
        """Whether all of it is there, and can be read once more."""
        return self._begin is not None

    def rewind(self) -> None:
        """Go back to where the stream begins in the file."""
        assert self._begin is not None
        os.lseek(self._descriptor, self._begin, os.SEEK_SET)
        self.bytes_taken = 0

    def close(self) -> None:
        """Do nothing: pyarrow closes what it reads, but `release` is the owner's."""

    def release(self) -> None:
        """Close the descriptor."""
        os.close(self._descriptor)


def _offset(descriptor: int) -> int | None:
    try:
        return os.lseek(descriptor, 0, os.SEEK_CUR)
    except OSError:
        return None  # a pipe has none


def _gzip_chunks(stream: CompressedInput) -> Iterator[bytes]:
    from gigastream.sources.gzip_members import gzip_chunks

    return gzip_chunks(stream)


def _zstd_chunks(stream: CompressedInput) -> Iterator[bytes]:
    import pyarrow  # noqa: F401  # not first in the thread, where it could only fail

    return _zstd_frames(stream)


def _zstd_frames(stream: CompressedInput) -> Iterator[bytes]:
    """Decompress all frames of a zstd stream, of a pipe in pieces of a page.

    pyarrow waits for a whole piece, and keeps back what it had of one in which it meets damage: a
    file's last piece is asked for once more, byte by byte.
    """
    delivered = 0
    try:
        for chunk in _zstd_pieces(stream, READ_BYTES if stream.is_file else _PAGE_BYTES):
            delivered += len(chunk)
            yield chunk
    except BrokenPipeError:
        raise
    except OSError as error:
        yield from _zstd_rest(stream, delivered)
        if error.errno is not None:
            raise  # the system's, not pyarrow's
        raise DamagedStreamError(_zstd_reason(str(error))) from None


def _zstd_reason(text: str) -> str:
    """Say what pyarrow's text means for a capture."""
    for part, reason in _ZSTD_REASONS.items():
        if part in text:
            return reason
    return f"the zstd stream is damaged, or needs a dictionary ({text})"


def _zstd_pieces(stream: CompressedInput, piece_bytes: int) -> Iterator[bytes]:
    source = _open_zstd(stream)
    while piece := source.read(piece_bytes):
        yield piece


def _zstd_rest(stream: CompressedInput, delivered: int) -> Iterator[bytes]:
    """Return what lies between the bytes delivered and the damage; of a file only.

    It may have become shorter meanwhile, or another one.
    """
    if not stream.is_file:
        return
    stream.rewind()
    source = _open_zstd(stream)
    with suppress(OSError):
        while delivered > 0:
            if not (piece := source.read(min(delivered, READ_BYTES))):
                return
            delivered -= len(piece)
        while byte := source.read(1):
            yield byte


def _open_zstd(stream: CompressedInput) -> pyarrow.NativeFile:
    import pyarrow

    return pyarrow.CompressedInputStream(pyarrow.PythonFile(stream, mode="r"), "zstd")


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


_CHUNKS: dict[str, Callable[[CompressedInput], Iterator[bytes]]] = {
    "gzip": _gzip_chunks,
    "zstd": _zstd_chunks,
}
