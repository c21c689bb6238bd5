# SPDX-License-Identifier: Apache-2.0
"""The small files of a shipped spool, as its numbered objects tell of them by now.

One for all who read it in this process: one listing and poll tells all of its tracks what is new.
"""

from __future__ import annotations

import threading
import time
import zlib
from collections.abc import Mapping

import pyarrow

from gigastream.late_dataclass import dataclass, replace
from gigastream.spool.errors import SpoolAwayError, SpoolReadError
from gigastream.spool.filesystem import first_line
from gigastream.spool.place import NoFileError, Place
from gigastream.spool.shipped_object import (
    MAX_OBJECT_BYTES,
    OBJECTS,
    FileNews,
    FilePiece,
    ShippedObject,
    decode_object,
    object_name,
    object_number,
)

POLL_SECONDS = 0.5
"""Between two listings: in a store each is paid for."""
ASK_AGAIN_SECONDS = 1.0
MAX_OBJECTS = 100_000
"""Those of a shipper are a few hundred: what is said as a whole lets those before it go."""
_LOOKS = 5
"""While objects are deleted that were listed."""
FAILURES = OSError, pyarrow.ArrowException
"""Of a place that does not answer as it should."""


@dataclass(frozen=True, slots=True)
class ShippedFile:
    """A small file; `version` changes when it does."""

    pieces: tuple[FilePiece, ...]
    tail: bytes
    version: int

    @property
    def size_bytes(self) -> int:
        return sum(piece.size_bytes for piece in self.pieces) + len(self.tail)


class _GapError(Exception):
    """Objects are listed, and not the one that is before them."""

    def __init__(self, missing: int, next_number: int) -> None:
        super().__init__(f"object {missing} is missing, and {next_number} is there")


class ShippedFiles:
    """Followed by `look`. `files` is by the way from the root; who holds it sees one state."""

    def __init__(self, store: Place) -> None:
        self.files: Mapping[str, ShippedFile] = {}
        self.number = 0
        """Of the last object that is taken in."""
        self.is_refused = False
        """Whether something there is not what a shipper writes."""
        self._store = store
        self._folder = f"{store.root}/{OBJECTS}"
        self._lock = threading.Lock()
        self._due_s = 0.0
        self._away: str | None = None
        self._held: tuple[FilePiece, bytes] | None = None

    def look(self) -> Mapping[str, ShippedFile]:
        """Return the files as they are now, or were a moment ago.

        Raises SpoolAwayError where the place does not answer, which a thread asks until it does;
        SpoolReadError for what no shipper writes.
        """
        if self._away is not None:
            raise SpoolAwayError(self._away)
        with self._lock:
            if not self.number or time.monotonic() >= self._due_s:
                self._catch_up_or_leave()
                self._due_s = time.monotonic() + POLL_SECONDS
            return self.files

    def read(self, path: str, offset: int, size_bytes: int) -> bytes:
        """Return bytes of a file, fewer at its end. Raises FileNotFoundError, NoFileError."""
        file = self.look().get(path)
        if file is None:
            raise FileNotFoundError(path)
        found, start = bytearray(), 0
        for piece in file.pieces:
            if start < offset + size_bytes and start + piece.size_bytes > offset:
                found += _cut(self._piece(piece), start, offset, size_bytes)
            start += piece.size_bytes
        return bytes(found + _cut(file.tail, start, offset, size_bytes))

    def catch_up(self) -> None:
        """Take in all objects that are there by now. Raises OSError, SpoolReadError."""
        problem = ""
        for _ in range(_LOOKS):
            try:
                self._take(self._listed())
                return
            except FileNotFoundError:  # let go of since it was listed: a whole has come
                problem = "objects that are listed are not there"
            except _GapError as gap:
                problem = str(gap)
        raise self._refused(problem)

    # ---- what is there ----

    def _catch_up_or_leave(self) -> None:
        try:
            self.catch_up()
        except FAILURES as error:
            raise self.leave(error) from None
        if not self.number:
            raise SpoolReadError(
                f"nothing has been shipped to {self._store.root} yet",
                "gigastream ship SPOOL DESTINATION does it",
            )

    def _listed(self) -> dict[int, tuple[bool, int]]:
        """By number, whether an object says the whole, and its size."""
        found: dict[int, tuple[bool, int]] = {}
        for name, size_bytes in self._sizes().items():
            known = object_number(name)
            if known is None:
                continue
            if known[0] in found or len(found) >= MAX_OBJECTS:
                raise self._refused(f"{name} is one object too many")
            found[known[0]] = known[1], size_bytes
        if max(found, default=0) < self.number:
            raise self._refused(f"object {self.number}, which was read, is not there any more")
        return found

    def _sizes(self) -> dict[str, int]:
        try:
            return self._store.sizes(self._folder)
        except FileNotFoundError:
            if self.number:
                raise OSError("what was shipped there is not there") from None
            return {}

    def _take(self, listed: Mapping[int, tuple[bool, int]]) -> None:
        """Begin with the newest whole, if it is new, and go on one by one."""
        new = sorted(number for number in listed if number > self.number)
        wholes = [number for number in new if listed[number][0]]
        number = wholes[-1] - 1 if wholes else self.number
        if new and not number and not wholes:
            raise _GapError(new[0] - 1, new[0])
        for following in (each for each in new if each > number):
            if following != number + 1:
                raise _GapError(number + 1, following)
            self.files = self._after(following, *listed[following])
            number = self.number = following

    def _after(self, number: int, is_whole: bool, size_bytes: int) -> Mapping[str, ShippedFile]:
        """The files as an object leaves them."""
        name = object_name(number, is_whole=is_whole)
        if size_bytes > MAX_OBJECT_BYTES:
            most = f"at most {MAX_OBJECT_BYTES} are read"
            raise self._refused(f"{name} has {size_bytes} bytes, {most}")
        data: bytes = self._store.read_all(f"{self._folder}/{name}", MAX_OBJECT_BYTES).to_pybytes()
        try:
            shipped = decode_object(data, number)
            if shipped.is_whole != is_whole:
                raise ValueError("its name does not say whether it says the whole")
            return applied(self.files, shipped)
        except ValueError as error:
            raise self._refused(f"{name}: {error}") from None

    def _piece(self, piece: FilePiece) -> bytes:
        held = self._held
        if held is None or held[0] != piece:
            held = piece, self._fetched(piece)
            self._held = held
        return held[1]

    def _fetched(self, piece: FilePiece) -> bytes:
        path = f"{self._store.root}/{piece.path}"
        try:
            data: bytes = self._store.read_all(path, piece.size_bytes + 1).to_pybytes()
        except FileNotFoundError:
            raise
        except FAILURES as error:
            raise self.leave(error) from None
        if len(data) != piece.size_bytes or zlib.crc32(data) != piece.checksum:
            raise NoFileError(f"{path} is not what is listed")
        return data

    def _refused(self, why: str) -> SpoolReadError:
        self.is_refused = True
        return SpoolReadError(
            f"{self._folder} is not what a shipper writes: {why}",
            "gigastream ship writes one anew, into another place",
        )

    # ---- a place that does not answer ----

    def leave(self, error: Exception) -> SpoolAwayError:
        """Return what is to be raised, and have a thread ask until the place answers."""
        if self._away is None:
            self._away = f"{self._store.root} does not answer: {first_line(error)}"
            threading.Thread(target=self._wait, daemon=True).start()
        return SpoolAwayError(self._away or "")

    def _wait(self) -> None:
        while True:
            time.sleep(ASK_AGAIN_SECONDS)
            try:
                self._store.sizes(self._folder)
            except FAILURES:
                continue
            self._away = None
            return


def applied(files: Mapping[str, ShippedFile], shipped: ShippedObject) -> dict[str, ShippedFile]:
    """Return the files as an object leaves them. Raises ValueError."""
    found = {} if shipped.is_whole else dict(files)
    for news in shipped.files:
        if news.data is None:
            found.pop(news.path, None)
        else:
            found[news.path] = _changed(files.get(news.path), news, news.data, shipped)
    if sum(len(file.tail) for file in found.values()) > MAX_OBJECT_BYTES:
        raise ValueError(f"all files together have more than {MAX_OBJECT_BYTES} bytes")
    return found


def _changed(
    known: ShippedFile | None, news: FileNews, data: bytes, shipped: ShippedObject
) -> ShippedFile:
    if not news.at:
        file = ShippedFile(news.pieces, data, shipped.number)
        # Said again in a whole: who has read it has nothing to read.
        return replace(file, version=known.version) if known and _is_same(known, file) else file
    has_bytes = 0 if known is None else known.size_bytes
    if known is None or news.pieces or shipped.is_whole or news.at != has_bytes:
        raise ValueError(f"it adds to {news.path} at byte {news.at}, which has {has_bytes}")
    return ShippedFile(known.pieces, known.tail + data, shipped.number)


def _is_same(known: ShippedFile, file: ShippedFile) -> bool:
    """Whether a file is as it was; pieces are of files that only grow."""
    if known.pieces or file.pieces:
        return known.size_bytes == file.size_bytes
    return known.tail == file.tail


def _cut(data: bytes, start: int, offset: int, size_bytes: int) -> bytes:
    """What of data that begins at `start` is within some bytes from an offset."""
    return data[max(0, offset - start) : max(0, offset + size_bytes - start)]
