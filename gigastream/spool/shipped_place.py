# SPDX-License-Identifier: Apache-2.0
"""A spool that a shipper brings to a shared place: segments, and objects that tell of the rest."""

from __future__ import annotations

import os
import threading
from typing import Any

import pyarrow

from gigastream.late_dataclass import dataclass
from gigastream.spool.commits import Passed
from gigastream.spool.errors import SpoolReadError
from gigastream.spool.place import Place, parse_object
from gigastream.spool.shipped_files import FAILURES, ShippedFiles
from gigastream.spool.shipped_object import MARKER, MAX_OBJECT_BYTES, marked_identity


@dataclass(frozen=True, slots=True)
class ShippedPlace(Place):
    """Small files are as `shipped` tells; segments and commits are files of the `store`.

    Methods raise SpoolAwayError, too, while the store does not answer.
    """

    store: Place
    shipped: ShippedFiles

    @property
    def is_here(self) -> bool:
        return False

    def is_held(self) -> bool | None:
        return None

    def names(self, folder: str) -> list[str]:
        inside = f"{self._way(folder)}/"
        found = {path[len(inside) :].split("/")[0] for path in self._under(inside)}
        if not found:
            raise FileNotFoundError(folder)
        return sorted(found)

    def size_bytes(self, path: str) -> int:
        file = self.shipped.look().get(self._way(path))
        if file is None:
            raise FileNotFoundError(path)
        return file.size_bytes

    def signature(self, path: str) -> tuple[int, ...] | None:
        file = self.shipped.look().get(self._way(path))
        if file is None:
            raise FileNotFoundError(path)
        return (file.version,)

    def read_at(self, path: str, offset: int, size_bytes: int) -> bytes:
        return self.shipped.read(self._way(path), offset, size_bytes)

    def read_all(self, path: str, most_bytes: int) -> pyarrow.Buffer:
        """Return a segment's bytes."""
        try:
            return self.store.read_all(path, most_bytes)
        except FileNotFoundError:
            raise
        except FAILURES as error:
            raise self.shipped.leave(error) from None

    def read_object(self, path: str) -> dict[str, Any]:
        return parse_object(self.read_at(path, 0, MAX_OBJECT_BYTES))

    def commit(self, folder: str, reader: str, segment: int, passed: Passed | None) -> None:
        self.store.commit(folder, reader, segment, passed)

    def passed(self, folder: str, reader: str) -> Passed | None:
        return self.store.passed(folder, reader)

    def _way(self, path: str) -> str:
        return path[len(self.root) + 1 :]

    def _under(self, inside: str) -> list[str]:
        return [path for path in self.shipped.look() if path.startswith(inside)]


class _Known:
    """By process, since a client is no use behind a fork. What travels to a task is empty."""

    def __init__(self) -> None:
        self._found: dict[tuple[int, str], ShippedPlace] = {}
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[type[_Known], tuple[()]]:
        return _Known, ()

    def get(self, path: str) -> ShippedPlace | None:
        return self._found.get((os.getpid(), path))

    def put(self, path: str, place: ShippedPlace) -> ShippedPlace:
        """Return the first that was given for a path."""
        with self._lock:
            return self._found.setdefault((os.getpid(), path), place)

    def forget(self, path: str) -> None:
        """Read it anew."""
        self._found.pop((os.getpid(), path), None)


_known = _Known()


def known_shipped(path: str) -> ShippedPlace | None:
    """Return the place of a path or URI that this process reads already.

    What is wrong with what was read of it stays wrong: it is read anew.
    """
    place = _known.get(path)
    if place is not None and place.shipped.is_refused:
        _known.forget(path)
        return None
    return place


def shipped_at(path: str, store: Place) -> ShippedPlace | None:
    """Return the place of what a shipper has brought there; None where none has. OSError."""
    marker = f"{store.root}/{MARKER}"
    try:
        found = store.read_at(marker, 0, 1 << 12)
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        marked_identity(parse_object(found))
    except ValueError as error:
        raise SpoolReadError(f"{marker} cannot be read: {error}") from None
    place = ShippedPlace(store.files, store.root, store, ShippedFiles(store))
    return _known.put(path, place)
