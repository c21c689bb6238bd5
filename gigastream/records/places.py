# SPDX-License-Identifier: Apache-2.0
"""Places that records come from: a file or pipe, compressed or not; a folder being filled."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Protocol

from gigastream.records.feed import RecordFeed
from gigastream.records.formats import (
    FORMATS,
    MAGIC_BYTES,
    format_of_bytes,
    format_of_name,
    rows_of,
)
from gigastream.records.record_input import RecordInput, wait_for_reader
from gigastream.sources.decompress import MAGIC_BYTES as COMPRESSED_BYTES
from gigastream.sources.decompress import DamagedStreamError, Decompression, compression_of

END_MARKER = "_END"
"""A file of this name in a folder: what is there is all that comes."""
_UNFINISHED = (".tmp", ".part")
_LOOK_EVERY_S = 0.2
_OPEN = os.O_RDONLY | os.O_CLOEXEC


class RecordPlaceError(Exception):
    """Records cannot be read on; those before are good."""


class RecordPlace(Protocol):
    """Where records come from."""

    def deliver(self, feed: RecordFeed) -> None:
        """Add all rows. RecordPlaceError, DamagedStreamError; BrokenPipeError: nobody reads."""

    def close(self) -> None:
        """Give back what is open."""


class RecordFile:
    """A file, a named pipe, or stdin."""

    def __init__(self, path: str, format_name: str | None, *, is_stdin: bool) -> None:
        """Open nothing yet."""
        self._path, self._format, self._is_stdin = path, format_name, is_stdin

    def deliver(self, feed: RecordFeed) -> None:
        """Add all rows."""
        try:
            descriptor = os.dup(0) if self._is_stdin else os.open(self._path, _OPEN)
        except OSError as problem:
            raise RecordPlaceError(problem.strerror or str(problem)) from None
        label = "stdin" if self._is_stdin else self._path
        deliver_file(descriptor, label, self._format or format_of_name(self._path), feed)

    def close(self) -> None:
        """Nothing stays open."""


def deliver_file(descriptor: int, label: str, format_name: str | None, feed: RecordFeed) -> None:
    """Add the rows of an open file, which is closed. RecordPlaceError, DamagedStreamError."""
    with _plain(descriptor, feed) as (source, decompression, plain):
        name = format_name or format_of_bytes(source.peek(MAGIC_BYTES))
        try:
            _deliver(source, plain, label, name, feed)
        except (BrokenPipeError, RecordPlaceError, DamagedStreamError):
            raise
        except Exception as problem:
            if type(problem).__name__ != "ArrowError" and not isinstance(problem, OSError):
                raise
            raise RecordPlaceError(str(problem)) from None
        if decompression is not None and decompression.damage is not None:
            raise DamagedStreamError(decompression.damage)


def _deliver(
    source: RecordInput, plain: int | None, label: str, name: str, feed: RecordFeed
) -> None:
    known, rows = FORMATS[name], rows_of(name)
    if known.is_of_files and plain is None:
        raise RecordPlaceError(f"{name} is read from a plain file alone")
    for number, values in rows(plain if known.is_of_files else source, feed.names):
        feed.add(values, f"{label}, {known.unit} {number:,}")


@contextmanager
def _plain(
    descriptor: int, feed: RecordFeed
) -> Iterator[tuple[RecordInput, Decompression | None, int | None]]:
    """Give what is in a file, its decompression if it has one, and its descriptor if it has not.

    The descriptor is taken over.
    """
    writer = feed.pipe.descriptor
    source = RecordInput(descriptor, writer, feed.before_wait)
    decompression, opened = None, descriptor
    try:
        first = source.peek(COMPRESSED_BYTES)
        compression = compression_of(first)
        if compression is not None:
            decompression = Decompression(descriptor, compression, source.some())
            opened = decompression.start()
            is_cut = partial(_is_damaged, decompression)
            source = RecordInput(opened, writer, feed.before_wait, is_cut)
        is_plain = compression is None and stat.S_ISREG(os.fstat(descriptor).st_mode)
        yield source, decompression, descriptor if is_plain else None
    finally:
        os.close(opened)
        if decompression is not None:
            decompression.wait_for_end()


def _is_damaged(decompression: Decompression) -> bool:
    return decompression.damage is not None


class RecordFolder:
    """A folder that files are renamed into, each of which is taken once."""

    def __init__(self, path: str, format_name: str | None) -> None:
        """Look at nothing yet."""
        self._path, self._format = path, format_name
        self._taken: dict[str, tuple[int, int]] = {}

    def deliver(self, feed: RecordFeed) -> None:
        """Add the rows of all files as they come, the oldest first, until END_MARKER is there."""
        while True:
            has_end, files = self._new()
            for name in files:
                self._file(name, feed)
            if has_end and not files:
                return
            feed.flush()
            if not files:
                wait_for_reader(feed.pipe.descriptor, _LOOK_EVERY_S)

    def close(self) -> None:
        """Nothing stays open."""

    def _new(self) -> tuple[bool, list[str]]:
        """Whether the end is there, and the files that were not taken, by time and name."""
        found: dict[str, tuple[int, int]] = {}
        order: list[tuple[int, str]] = []
        has_end = False
        try:
            with os.scandir(self._path) as entries:
                for entry in entries:
                    has_end = has_end or entry.name == END_MARKER
                    identity = _identity(entry)
                    if identity is None:
                        continue
                    found[entry.name] = identity
                    if self._taken.get(entry.name) != identity:
                        order.append((identity[1], entry.name))
        except OSError as problem:
            raise RecordPlaceError(problem.strerror or str(problem)) from None
        self._taken = found  # those that are there no more need not be known
        return has_end, [name for _, name in sorted(order)]

    def _file(self, name: str, feed: RecordFeed) -> None:
        """Add one file's rows; what is wrong with it is a record that is none, and no more."""
        path = os.path.join(self._path, name)
        try:
            descriptor = os.open(path, _OPEN | os.O_NONBLOCK)
            deliver_file(descriptor, path, self._format or format_of_name(name), feed)
        except BrokenPipeError:
            raise
        except (OSError, RecordPlaceError, DamagedStreamError) as problem:
            feed.add(str(problem), path)


def _identity(entry: os.DirEntry[str]) -> tuple[int, int] | None:
    """What tells a file from the one that had its name before; None of what is no whole file."""
    if entry.name.startswith((".", "_")) or entry.name.endswith(_UNFINISHED):
        return None
    try:
        found = entry.stat()
    except OSError:
        return None
    return (found.st_ino, found.st_mtime_ns) if stat.S_ISREG(found.st_mode) else None
