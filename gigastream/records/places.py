# SPDX-License-Identifier: Apache-2.0
"""Places that records come from: a file or pipe, compressed or not; a folder being filled."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
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
from gigastream.records.record_input import SHORT, RecordInput, wait_for_reader
from gigastream.sources.decompress import MAGIC_BYTES as COMPRESSED_BYTES
from gigastream.sources.decompress import DamagedStreamError, Decompression, compression_of

END_MARKER = "_END"
"""A file of this name in a folder: what is there is all that comes."""
_UNFINISHED = (".tmp", ".part")
_LOOK_EVERY_S = 0.2
_OPEN = os.O_RDONLY | os.O_CLOEXEC
_OPEN_IN_FOLDER = _OPEN | os.O_NONBLOCK | os.O_NOFOLLOW
"""Who may write to a folder must not choose which of our files are read, nor keep us waiting."""
_Identity = tuple[int, int]
"""Inode and time of change: what tells a file from the one that had its name before."""


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

    def __init__(self, path: str, format_name: str | None, *, is_awaited: bool = False) -> None:
        """Look at nothing yet. `is_awaited`: one that cannot be read is looked for again."""
        self._path, self._format, self._is_awaited = path, format_name, is_awaited
        self._taken: dict[str, _Identity] = {}
        self.absence: str | None = None
        """Why it cannot be read at the moment."""

    @property
    def notes(self) -> list[str]:
        """Why nothing comes of it."""
        return [] if self.absence is None else [f"{self.absence}; it is waited for"]

    def deliver(self, feed: RecordFeed) -> None:
        """Add the rows of all files as they come, the oldest first, until END_MARKER is there.

        A list of many names is made in pieces: one that has the marker may lack what was renamed
        into the folder before it. One that is begun when the marker has been seen has everything.
        """
        had_end = False
        while True:
            with ExitStack() as opened:
                folder, has_end, files = self._new(opened)
                has_taken = all(self._has_taken(folder, *file, feed) for file in files)
            if had_end and has_end and not files:
                return
            had_end = has_end
            feed.flush()
            if not has_taken or not (files or has_end):
                wait_for_reader(feed.pipe.descriptor, _LOOK_EVERY_S)

    def close(self) -> None:
        """Nothing stays open."""

    def _new(self, opened: ExitStack) -> tuple[int, bool, list[tuple[str, _Identity]]]:
        """The open folder, whether its end is there, what was not taken of it, by time and name.

        Its files are asked for below the descriptor: one that is moved in the middle of a look is
        still the one that was listed. What was taken of a folder that cannot be read stays known:
        it may be the same again.
        """
        try:
            folder = os.open(self._path, _OPEN | os.O_DIRECTORY)
            opened.callback(os.close, folder)
            with os.scandir(folder) as entries:
                listed = [(entry.name, _listed(entry)) for entry in entries]
        except OSError as problem:
            reason = problem.strerror or str(problem)
            if not self._is_awaited and problem.errno not in SHORT:
                raise RecordPlaceError(reason) from None
            self.absence = reason
            return -1, False, []
        self.absence = None
        found = {name: identity for name, identity in listed if identity is not None}
        new = [item for item in found.items() if self._taken.get(item[0]) != item[1]]
        there = {name for name, _ in listed}
        self._taken = {name: each for name, each in self._taken.items() if name in there}
        new.sort(key=lambda item: (item[1][1], item[0]))
        return folder, END_MARKER in there, new

    def _has_taken(self, folder: int, name: str, identity: _Identity, feed: RecordFeed) -> bool:
        """Add one file's rows; what is wrong with it is a record that is none, and no more.

        False: there is no descriptor left for it, nor for those behind it.
        """
        path = os.path.join(self._path, name.replace("\n", "\ufffd"))  # as messages call it
        self._taken[name] = identity
        try:
            descriptor = os.open(name, _OPEN_IN_FOLDER, dir_fd=folder)
            opened = _identity(os.fstat(descriptor))
            if opened is None:
                os.close(descriptor)
                raise RecordPlaceError("it is no file any more")
            self._taken[name] = opened  # another one may have got its name since it was seen
            deliver_file(descriptor, path, self._format or format_of_name(name), feed)
        except BrokenPipeError:
            raise
        except (OSError, RecordPlaceError, DamagedStreamError) as problem:
            if isinstance(problem, OSError) and problem.errno in SHORT:
                del self._taken[name]
                self.absence = problem.strerror
                return False
            feed.add(str(problem), path)
        return True


def _listed(entry: os.DirEntry[str]) -> _Identity | None:
    """The identity of an entry; None of what is no whole file of the folder's own."""
    if entry.name.startswith((".", "_")) or entry.name.endswith(_UNFINISHED):
        return None
    try:
        return _identity(entry.stat(follow_symlinks=False))
    except OSError:
        return None


def _identity(found: os.stat_result) -> _Identity | None:
    return (found.st_ino, found.st_mtime_ns) if stat.S_ISREG(found.st_mode) else None
