# SPDX-License-Identifier: Apache-2.0
"""Where packets come from: a capture file, compressed or not, or a pipe.

The engine reads or maps what is plain. What is compressed is decompressed by a thread that writes
into a pipe, whose other end the engine reads (decompress.py); a compressed file is still a file for
time at the source (OPERATORS section 2). What cannot be read twice (stdin, a FIFO) is a pipe. A
source is opened when its turn comes, without waiting for anything.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from gigastream.late_dataclass import dataclass
from gigastream.sources.decompress import (
    MAGIC_BYTES,
    Decompression,
    compression_of,
)
from gigastream.sources.pipes import is_readable, leave_room, widen
from gigastream.timestamps import Timestamps

DEFAULT_INTERFACE = "default"
STDIN = "-"
_READ_ONLY = os.O_RDONLY | os.O_CLOEXEC
_CAPTURE_MAGICS = tuple(
    magic.to_bytes(MAGIC_BYTES, order)
    for magic in (0xA1B2C3D4, 0xA1B23C4D, 0xA1B2CD34, 0x0A0D0D0A)
    for order in ("little", "big")
)
_NAMED = re.compile(r"([A-Za-z_][A-Za-z0-9_.:-]*)=(.+)", re.DOTALL)


SMALL_BYTES = 8 << 20
"""Eighty thousand packets: faster code would save less than the compiler takes longer for it."""


class SourceError(Exception):
    """A source that cannot be opened: missing, unreadable, a directory."""

    exit_code = 2

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


class NoRoomError(SourceError):
    """It cannot be opened now: this process has as many files open as it may."""


class DamagedSourceError(SourceError):
    """A source that is damaged in the middle; what came before has been read."""

    exit_code = 1


class OpenSource:
    """A source from when it is first asked for to its end.

    `is_pipe` says which rule of time it follows: W = H - slack instead of the file's blocks.
    """

    def __init__(self, source: FileSource) -> None:
        """Look what it is; nothing is opened yet."""
        self._source = source
        self.is_pipe = not source.is_file
        self.is_divided = source.divided is not None
        self.total_bytes = source.size if not self.is_pipe else 0
        """Of a file, before it is opened; 0: unknown."""
        self.descriptor = -1
        self.first_bytes = b""
        """Of a pipe: read already, to see what it is."""
        self.failure: BaseException | None = None
        self._decompression: Decompression | None = None
        self._is_known = False

    def advance(self) -> bool:
        """Go on opening it, without waiting; True: `descriptor` is what is to be read.

        False: it is a pipe that has not said yet what it is; `descriptor` is readable when it has.
        SourceError says why it cannot be opened; NoRoomError: not now.
        """
        with telling(self._source.label):
            if self.descriptor < 0:
                self.descriptor = self._source.descriptor()
                self._refuse_another()
            leave_room(self.descriptor)
            if not self._is_known and self._peek():
                self._begin()
                self._is_known = True
        return self._is_known

    def _refuse_another(self) -> None:
        """Readers that divide a file have seen that it is one."""
        is_file = stat.S_ISREG(os.fstat(self.descriptor).st_mode)
        if self.is_divided and not is_file:
            raise SourceError(f"{self._source.label}: was replaced while it was opened")

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

    def hand_over(self) -> int:
        """Give the descriptor to whoever is to close it."""
        descriptor, self.descriptor = self.descriptor, -1
        return descriptor

    def close(self) -> None:
        """Close the descriptor; a decompressor then ends by itself."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1
        if self._decompression is not None:
            self._decompression.wait_for_end()

    def _peek(self) -> bool:
        """Read the first bytes; False: there may be more of them."""
        if stat.S_ISREG(os.fstat(self.descriptor).st_mode):
            at = os.lseek(self.descriptor, 0, os.SEEK_CUR)
            self.first_bytes = os.pread(self.descriptor, MAGIC_BYTES, at)
            return True
        while len(self.first_bytes) < MAGIC_BYTES and is_readable(self.descriptor):
            data = os.read(self.descriptor, MAGIC_BYTES - len(self.first_bytes))
            if not data:
                return True
            self.first_bytes += data
        return len(self.first_bytes) == MAGIC_BYTES

    def _begin(self) -> None:
        """What is compressed is read through a decompressor, the rest as it is."""
        compression = compression_of(self.first_bytes)
        if stat.S_ISREG(os.fstat(self.descriptor).st_mode):
            self.first_bytes = b""  # they are read again
        else:
            widen(self.descriptor)
        if compression is None:
            return
        decompression = Decompression(self.descriptor, compression, self.first_bytes)
        self.descriptor = decompression.start()
        self.first_bytes = b""
        self._decompression = decompression


@dataclass(frozen=True, slots=True)
class FileSource:
    """A file (`-`: stdin) and the interface whose packets it holds."""

    interface: str
    path: str
    opened: int | None = None
    """A descriptor that somebody else has opened, which is read in the place of the path.

    It stays the caller's, who may close it when nothing more is read. A file is read from its
    beginning, whatever its offset, which is moved: it is a source once.
    """
    timestamps: Timestamps | None = None
    """Whose time its packets have; None: what the settings say."""
    divided: Any = None
    """The DividedFile (gigastream/engine/extents.py) that it is to one of several readers."""

    @property
    def is_stdin(self) -> bool:
        """Whether it is this process's standard input."""
        return self.path == STDIN and self.opened is None

    @property
    def label(self) -> str:
        """Its name in messages."""
        return "stdin" if self.is_stdin else self.path

    def check(self) -> None:
        """Raise SourceError if it cannot be opened, without waiting for anything."""
        if self.is_stdin:
            _refuse_a_terminal()
            return
        with telling(self.label, self._meant):
            mode = self._stat().st_mode
        if stat.S_ISDIR(mode):
            raise SourceError(
                f"{self.path} is a directory, not a capture file", "name its files, each with -r"
            )
        if self.opened is None and not os.access(self.path, os.R_OK):
            raise SourceError(f"{self.path}: {os.strerror(errno.EACCES)}")

    def _meant(self) -> str | None:
        """Say how a `=` is read, where it was likely meant otherwise."""
        whole = f"{self.interface}={self.path}"
        if os.path.exists(whole):
            return f"what stands before a = names an interface; the file is ./{whole}"
        if os.path.exists(self.path.partition("=")[2]):
            return "an interface is named by a letter or _, then letters, digits, and any of _.:-"
        return None

    @property
    def is_file(self) -> bool:
        """Whether it can be read again: not a pipe, and not the rest of a file on stdin."""
        with telling(self.label):
            if not self.is_stdin:
                return stat.S_ISREG(self._stat().st_mode)
            is_regular = stat.S_ISREG(os.fstat(0).st_mode)
            return is_regular and os.lseek(0, 0, os.SEEK_CUR) == 0

    @property
    def is_finite(self) -> bool:
        """Whether it has an end."""
        return self.is_file

    def opening(self) -> OpenSource:
        """Get ready to open it when it is its turn."""
        return OpenSource(self)

    @property
    def size(self) -> int:
        """Bytes of the file."""
        with telling(self.label):
            return (os.fstat(0) if self.is_stdin else self._stat()).st_size

    @property
    def is_compressed(self) -> bool:
        """Whether a file is, so that its size says nothing of its packets; they are not read."""
        with telling(self.label):
            if self.is_stdin or self.opened is not None:
                return _is_compressed(self.opened or 0)
            descriptor = os.open(self.path, _READ_ONLY | os.O_NONBLOCK)
            try:
                return _is_compressed(descriptor)
            finally:
                os.close(descriptor)

    @property
    def is_divisible(self) -> bool:
        """Whether it is a capture file, not compressed, and opened by its path."""
        if self.is_stdin or self.opened is not None or not self.is_file:
            return False
        with telling(self.label):
            descriptor = os.open(self.path, _READ_ONLY | os.O_NONBLOCK)
            try:
                magic = os.pread(descriptor, MAGIC_BYTES, 0)
            finally:
                os.close(descriptor)
        return magic in _CAPTURE_MAGICS

    def descriptor(self) -> int:
        """Open it without waiting for a writer. OSError."""
        if self.opened is not None:
            _go_to_its_beginning(self.opened)
            return os.dup(self.opened)
        if self.is_stdin:
            return os.open("/dev/stdin", _READ_ONLY) if self.is_file else os.dup(0)
        return os.open(self.path, _READ_ONLY | os.O_NONBLOCK)

    def _stat(self) -> os.stat_result:
        if self.opened is None:
            return os.stat(self.path)
        _refuse_what_gives_nothing(self.path, self.opened)
        return os.fstat(self.opened)


def _is_compressed(descriptor: int) -> bool:
    return compression_of(os.pread(descriptor, MAGIC_BYTES, 0)) is not None


def _go_to_its_beginning(descriptor: int) -> None:
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.lseek(descriptor, 0, os.SEEK_SET)


def _refuse_what_gives_nothing(label: str, descriptor: int) -> None:
    """Whoever read it would wait for ever, or be told too late. OSError, SourceError."""
    flags = fcntl.fcntl(descriptor, fcntl.F_GETFL)
    if flags & os.O_PATH or flags & os.O_ACCMODE == os.O_WRONLY:
        raise SourceError(f"{label}: the descriptor that was handed over is not for reading")
    if os.isatty(descriptor):
        raise SourceError(f"{label}: no capture comes from a terminal")
    kind = stat.S_IFMT(os.fstat(descriptor).st_mode)
    if kind == 0 or (kind == stat.S_IFSOCK and _is_listening(descriptor)):
        raise SourceError(f"{label}: no bytes come of the descriptor that was handed over")


def _is_listening(descriptor: int) -> bool:
    import socket

    with socket.socket(fileno=os.dup(descriptor)) as found:
        return bool(found.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN))


def parse_source(text: str) -> FileSource:
    """Read `[IFACE=]FILE`; what stands before the first `=` is an interface if it is a name."""
    named = _NAMED.fullmatch(text)
    return FileSource(named[1], named[2]) if named else FileSource(DEFAULT_INTERFACE, text)


def _refuse_a_terminal() -> None:
    if os.isatty(0):
        raise SourceError(
            "stdin is a terminal: no capture comes from there",
            "tcpdump -w - … | gigastream run -r -, or gigastream run -r - < FILE",
        )


@contextmanager
def telling(label: str, meant: Callable[[], str | None] = lambda: None) -> Iterator[None]:
    """Turn what the system says about a file into a SourceError; `meant` may have a hint."""
    try:
        yield
    except OSError as error:
        kind = NoRoomError if error.errno in (errno.EMFILE, errno.ENFILE) else SourceError
        raise kind(f"{label}: {error.strerror or error}", meant()) from None
    except (OverflowError, ValueError) as error:  # a NUL byte in the name, no descriptor's number
        raise SourceError(f"{label!r}: {error}") from None


def are_finite(sources: Iterable[object]) -> bool:
    """True where all have an end: files, or lists of packets, no links, no pipes."""
    return all(getattr(source, "is_finite", False) for source in sources)


def are_small(sources: Iterable[object]) -> bool:
    """Whether all are files, and so small together that better code would not pay for itself.

    A compressed one is not: a few bytes of it may be any number of packets.
    """
    given = list(sources)
    files = [source for source in given if isinstance(source, FileSource) and source.is_finite]
    if len(files) < len(given) or sum(file.size for file in files) > SMALL_BYTES:
        return False
    return not any(file.is_compressed for file in files)
