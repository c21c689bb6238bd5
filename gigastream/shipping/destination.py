# SPDX-License-Identifier: Apache-2.0
"""The place to which a spool is shipped: what is there tells how far that has come.

Who is killed at any moment leaves at most objects that nothing names, which are written again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from gigastream.spool import Entry, SpoolReadError, layout
from gigastream.spool.address import address_of
from gigastream.spool.place import NoFileError, Place, parse_object
from gigastream.spool.shipped_files import FAILURES, ShippedFile, ShippedFiles, applied
from gigastream.spool.shipped_object import (
    MARKER,
    MAX_OBJECT_BYTES,
    OBJECTS,
    PIECES,
    FileNews,
    ShippedObject,
    encode_marker,
    encode_object,
    marked_identity,
    object_name,
    object_number,
    piece_of,
    piece_path,
)

WHOLE_AFTER_OBJECTS = 128
"""Then all is said anew, so that a listing stays below what a store gives in one answer."""
WHOLE_AFTER_BYTES = 32 << 20
PIECE_BYTES = 64 << 10
"""Of a file that grows: what it has by then becomes an object of its own."""
_GROWING = ("manifest", "descriptions", "plan", "queries")
_CHUNK_BYTES = 8 << 20


class ShippingPlace:
    """Methods raise OSError and ArrowException where the place does not do what it should."""

    def __init__(
        self, store: Place, spool: Place, identity: str | None, *, may_begin: bool = True
    ) -> None:
        """`may_begin`: an empty place is taken; else it has lost what was brought there.

        Raises SpoolReadError where something else is there, or another spool's.
        """
        self.store = store
        self._may_begin = may_begin
        self._spool = spool
        self._shipped = ShippedFiles(store)
        self._objects_since = self._bytes_since = 0
        self._pieces_before: set[str] | None = None
        self._begin(identity)
        self._shipped.catch_up()
        self._objects_since = self._shipped.number % WHOLE_AFTER_OBJECTS

    @property
    def files(self) -> Mapping[str, ShippedFile]:
        """What readers see by now; it does not change any more."""
        return self._shipped.files

    def read(self, way: str) -> bytes:
        """Return a whole file as readers see it."""
        return self._shipped.read(way, 0, self._shipped.files[way].size_bytes)

    @property
    def number(self) -> int:
        """Of the last object."""
        return self._shipped.number

    def _begin(self, identity: str | None) -> None:
        marker = f"{self.store.root}/{MARKER}"
        try:
            known = marked_identity(parse_object(self.store.read_at(marker, 0, 1 << 12)))
        except FileNotFoundError:
            if not self._may_begin:
                raise OSError("what was shipped there is not there") from None
            self._mark(marker, identity)
            return
        except ValueError as error:
            raise SpoolReadError(f"{marker} cannot be read: {error}") from None
        if known != identity:
            raise SpoolReadError(
                f"another spool is shipped to {self.store.root}", "give each its own place"
            )

    def _mark(self, marker: str, identity: str | None) -> None:
        with suppress(FileNotFoundError, NotADirectoryError):
            if self.store.names(self.store.root):
                raise SpoolReadError(
                    f"{self.store.root} holds something else", "ship to a place of its own"
                )
        if self.store.files is None:
            Path(self.store.root).mkdir(parents=True, exist_ok=True)
        self.store.put(marker, [encode_marker(identity)])

    # ---- what is brought ----

    def bring(self, folder: str, entry: Entry) -> bool:
        """Bring a segment; return whether there is one. Raises SpoolReadError."""
        way = f"{folder}/{layout.segment_name(entry.segment or 0)}"
        try:
            self._spool.size_bytes(f"{self._spool.root}/{way}")
        except (FileNotFoundError, NotADirectoryError, NoFileError):
            return False
        except OSError as error:
            raise SpoolReadError(f"{way} cannot be read: {error.strerror or error}") from None
        self.store.put(f"{self.store.root}/{way}", self._bytes_of(way, entry.size_bytes + 1))
        return True

    def _bytes_of(self, way: str, most_bytes: int) -> Iterator[bytes]:
        """A file of the spool; one byte more than is listed says that there are more."""
        path, at = f"{self._spool.root}/{way}", 0
        while at < most_bytes:
            try:
                piece = self._spool.read_at(path, at, min(_CHUNK_BYTES, most_bytes - at))
            except OSError as error:
                raise SpoolReadError(f"{path} cannot be read: {error.strerror or error}") from None
            if not piece:
                return
            yield piece
            at += len(piece)

    def tell(self, news: Sequence[FileNews]) -> None:
        """Write the next object; now and then one that says all that there is."""
        self._put(ShippedObject(self.number + 1, self.number == 0, tuple(news)))
        due = self._objects_since >= WHOLE_AFTER_OBJECTS
        if due or self._bytes_since >= WHOLE_AFTER_BYTES:
            self._put(ShippedObject(self.number + 1, True, tuple(self._whole())))
            with suppress(*FAILURES):  # the next whole lets go of them
                self._let_go()

    def _put(self, shipped: ShippedObject) -> None:
        data = encode_object(shipped)
        if len(data) > MAX_OBJECT_BYTES:
            raise SpoolReadError(
                f"{self._spool.root} has {len(data)} bytes beside its segments that would have to "
                f"be said at once, at most {MAX_OBJECT_BYTES} can be",
                "fewer interfaces or queries in a spool",
            )
        name = object_name(shipped.number, is_whole=shipped.is_whole)
        files = applied(self._shipped.files, shipped)
        self.store.put(f"{self.store.root}/{OBJECTS}/{name}", [data])
        self._shipped.files, self._shipped.number = files, shipped.number
        self._objects_since = 0 if shipped.is_whole else self._objects_since + 1
        self._bytes_since = 0 if shipped.is_whole else self._bytes_since + len(data)

    def _whole(self) -> Iterator[FileNews]:
        """All files; what has grown for a while is in objects of its own, which stay."""
        parts = 0
        for way, file in self._shipped.files.items():
            pieces, tail = file.pieces, file.tail
            if len(tail) >= PIECE_BYTES and address_of(way).kind in _GROWING:
                path = piece_path(self.number + 1, parts)
                self.store.put(f"{self.store.root}/{path}", [tail])
                pieces, tail, parts = (*pieces, piece_of(path, tail)), b"", parts + 1
            yield FileNews(way, tail, pieces=pieces)

    # ---- what is let go ----

    def _let_go(self) -> None:
        """Delete what only those need who read behind the whole before this one."""
        folder = f"{self.store.root}/{OBJECTS}"
        known = {name: object_number(name) for name in self.store.sizes(folder)}
        wholes = sorted(found[0] for found in known.values() if found and found[1])
        for name, found in known.items():
            if found and wholes[-2:-1] and found[0] < wholes[-2]:
                self.store.delete(f"{folder}/{name}")
        self._let_go_of_pieces()

    def _let_go_of_pieces(self) -> None:
        files = self._shipped.files.values()
        named = {piece.path for file in files for piece in file.pieces}
        before, self._pieces_before = self._pieces_before, named
        if before is None:
            return  # what the whole before this one named is not known
        with suppress(FileNotFoundError):
            for name in self.store.sizes(f"{self.store.root}/{PIECES}"):
                if f"{PIECES}/{name}" not in named | before:
                    self.store.delete(f"{self.store.root}/{PIECES}/{name}")
