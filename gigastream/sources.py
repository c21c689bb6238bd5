# SPDX-License-Identifier: Apache-2.0
"""Where packets come from: a capture file, compressed or not, or a pipe.

A plain file is left to the engine, which maps it into memory. A compressed one is decompressed by a
thread that writes into a pipe, whose other end the engine reads (gigastream/decompress.py); for
time at the source (OPERATORS section 2) it is still a file. Anything that cannot be read twice
(stdin, a FIFO) is a pipe.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from gigastream.decompress import MAGIC_BYTES, Decompression, compression_of, peek_pipe

DEFAULT_INTERFACE = "default"
STDIN = "-"
_NAMED = re.compile(r"([A-Za-z_][A-Za-z0-9_.:-]*)=(.+)", re.DOTALL)


class SourceError(Exception):
    """A source that cannot be opened: missing, unreadable, a directory."""

    exit_code = 2

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


class DamagedSourceError(SourceError):
    """A source that is damaged in the middle; what came before has been read."""

    exit_code = 1


class OpenSource:
    """An open source, as the engine takes it: a `path` to map, or a `descriptor` to read.

    `is_pipe` says which rule of time it follows: W = H - slack instead of the file's blocks.
    """

    def __init__(
        self,
        path: str | None = None,
        descriptor: int = -1,
        is_pipe: bool = False,
        decompression: Decompression | None = None,
    ) -> None:
        self.path = path
        self.descriptor = descriptor
        self.is_pipe = is_pipe
        self._decompression = decompression

    @property
    def damage(self) -> str | None:
        """What is wrong with the compressed stream; complete once its end has been read."""
        return None if self._decompression is None else self._decompression.damage

    @property
    def compressed_bytes(self) -> tuple[int, int] | None:
        """Bytes of the file taken so far and in all (0: unknown), of a compressed source only."""
        if self._decompression is None:
            return None
        return self._decompression.bytes_taken, self._decompression.total_bytes

    def close(self) -> None:
        """Close the descriptor; a decompressor then ends by itself."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1


@dataclass(frozen=True, slots=True)
class FileSource:
    """A file (`-`: stdin) and the interface whose packets it holds."""

    interface: str
    path: str

    @property
    def is_stdin(self) -> bool:
        """Whether it is this process's standard input."""
        return self.path == STDIN

    @property
    def label(self) -> str:
        """Its name in messages."""
        return "stdin" if self.is_stdin else self.path

    def check(self) -> None:
        """Raise SourceError if it cannot be opened, without waiting for anything."""
        if self.is_stdin:
            return
        with _telling(self.label):
            mode = os.stat(self.path).st_mode
        if stat.S_ISDIR(mode):
            raise SourceError(
                f"{self.path} is a directory, not a capture file", "name its files, each with -r"
            )
        if not os.access(self.path, os.R_OK):
            raise SourceError(f"{self.path}: {os.strerror(errno.EACCES)}")

    def open(self) -> OpenSource:
        """Open it; SourceError says why not. A file may be opened more than once, a pipe not.

        Waits for the first bytes of a pipe, which say whether they are compressed.
        """
        self.check()
        with _telling(self.label):
            descriptor = self._descriptor()
            if _is_file_from_its_start(descriptor):
                return self._open_file(descriptor)
            compression = compression_of(peek_pipe(descriptor))
        if compression is None:
            return OpenSource(descriptor=descriptor, is_pipe=True)
        return _decompressed(descriptor, compression, is_pipe=True)

    def _open_file(self, descriptor: int) -> OpenSource:
        compression = compression_of(os.pread(descriptor, MAGIC_BYTES, 0))
        if compression is not None:
            return _decompressed(descriptor, compression, is_pipe=False)
        os.close(descriptor)
        return OpenSource(path="/dev/stdin" if self.is_stdin else self.path)

    def _descriptor(self) -> int:
        return os.dup(0) if self.is_stdin else os.open(self.path, os.O_RDONLY)


def parse_source(text: str) -> FileSource:
    """Read `[IFACE=]FILE`; what stands before the first `=` is an interface if it is a name."""
    named = _NAMED.fullmatch(text)
    return FileSource(*named.groups()) if named else FileSource(DEFAULT_INTERFACE, text)


@contextmanager
def _telling(label: str) -> Iterator[None]:
    """Turn what the system says about a file into a SourceError."""
    try:
        yield
    except OSError as error:
        raise SourceError(f"{label}: {error.strerror or error}") from None
    except ValueError as error:  # a NUL byte in the name
        raise SourceError(f"{label!r}: {error}") from None


def _is_file_from_its_start(descriptor: int) -> bool:
    """Whether it can be read again by its name: false for the rest of a file on stdin."""
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        return False
    return os.lseek(descriptor, 0, os.SEEK_CUR) == 0


def _decompressed(descriptor: int, compression: str, is_pipe: bool) -> OpenSource:
    decompression = Decompression(descriptor, compression)
    return OpenSource(None, decompression.start(), is_pipe, decompression)
