# SPDX-License-Identifier: Apache-2.0
"""A spool of this host, shipped as it grows: segments, then the object that lists them.

Each begin is the same as behind a kill: what is at the destination tells how far it has come.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable

from gigastream.late_dataclass import dataclass, field
from gigastream.shipping.destination import ShippingPlace
from gigastream.shipping.retention import ShippedRetention
from gigastream.shipping.source import Gathered, SpoolFiles, retained_of
from gigastream.shipping.stop import Stop
from gigastream.spool import Entry, Spool, SpoolError, SpoolReadError, SpoolSettings, layout
from gigastream.spool.apart import NamedPlace, check_apart
from gigastream.spool.filesystem import first_line, refuse_secrets
from gigastream.spool.opened_place import open_store
from gigastream.spool.place import Place
from gigastream.spool.shipped_files import FAILURES
from gigastream.spool.track import reason_of

COMMIT_SECONDS = 5.0
"""Between two commits on the host, each of which waits for its disk."""
ASK_AGAIN_SECONDS = 2.0
_LOCKS = ".shipping"
"""Folder of locks in the spool, one for each destination."""


@dataclass(slots=True)
class ShippedCount:
    """What a shipper has brought."""

    segments: int = 0
    rows: int = 0
    size_bytes: int = 0
    missing_segments: int = 0
    """Listed, and not there: readers call them damage."""


@dataclass(frozen=True, slots=True)
class ShipSettings:
    """`every_s`: between two objects. `is_once`: what is there now, and then the end.

    `kept` says what is kept at the destination, in its last three fields.
    """

    every_s: float = 1.0
    is_once: bool = False
    kept: SpoolSettings = field(default_factory=SpoolSettings)


class Shipper:
    """Ships a spool to a place that no other shipper writes; `stop` may be a signal's handler."""

    def __init__(
        self, root: str, destination: str, settings: ShipSettings, tell: Callable[[str], None]
    ) -> None:
        """Raises SpoolReadError, SpoolError: it is no spool, the place is not to be had."""
        refuse_secrets(destination)
        self.count = ShippedCount()
        self._spool = _spool_at(root)
        self._store = open_store(destination)
        _check_apart(self._spool, self._store)
        self._destination = destination
        self._settings = settings
        self._tell = tell
        self._stop = Stop()
        self._identity = Spool(root).identity
        self.reader = _reader_name(self._store)
        self._reached: dict[str, int] = {}
        """By generation, the segment behind those that are told of at the destination."""
        self._committed: dict[str, int] = {}
        self._commit_due_s = 0.0
        self._told: set[str] = set()
        self._lock = self._locked()
        try:
            self._begin(may_begin=True)
        except BaseException:
            self.close()
            raise

    def stop(self) -> None:
        """End behind what is being brought now."""
        self._stop.set()

    def run(self) -> None:
        """Ship until the spool has ended, or `stop`. Raises SpoolReadError, SpoolError."""
        while not self._stop.is_set():
            try:
                has_more = self._pass()
            except FAILURES as error:
                self._wait(error)
                continue
            if not has_more and (self._settings.is_once or self._has_ended()):
                break
            if not has_more:
                self._stop.wait(self._settings.every_s)
        self._commit()

    def _begin(self, *, may_begin: bool) -> None:
        """Find out what is there. Raises SpoolReadError, and where it does not answer, FAILURES."""
        try:
            self._place = ShippingPlace(
                self._store, self._spool, self._identity, may_begin=may_begin
            )
            self._retention = ShippedRetention(self._place, self._settings.kept)
        except FAILURES as error:
            if not may_begin:
                raise
            raise SpoolReadError(
                f"{self._destination} cannot be written: {first_line(error)}"
            ) from None
        self._files = SpoolFiles(self._spool)
        self._files.resume(self._place.files)
        self._reached = {way: tail.next_segment for way, tail in self._files.tails.items()}
        self._commit_new()

    def _wait(self, error: Exception) -> None:
        """Until the destination answers; then begin as anew."""
        self._tell(f"{self._destination} does not answer: {first_line(error)}; it is waited for")
        while not self._stop.wait(ASK_AGAIN_SECONDS):
            try:
                self._begin(may_begin=False)
            except FAILURES:
                continue
            self._tell(f"{self._destination} answers again")
            return

    # ---- what is new ----

    def _pass(self) -> bool:
        """Ship what is new; return whether there is more than one object tells."""
        gathered = self._files.gather(self._place.files)
        self._commit_new()
        for folder, entry in list(gathered.segments):
            if self._stop.is_set():
                return False
            self._bring(folder, entry, gathered)
        if gathered.told:
            self._place.tell(gathered.files)
            for lines in gathered.told:
                self._retention.take(lines)
            self._reached = {way: tail.next_segment for way, tail in self._files.tails.items()}
        self._retention.prune()
        if time.monotonic() >= self._commit_due_s:
            self._commit()
        return gathered.is_cut

    def _bring(self, folder: str, entry: Entry, gathered: Gathered) -> None:
        segment = entry.segment or 0
        if segment < self._first_kept(folder, gathered):
            return
        if self._place.bring(folder, entry):
            self.count.segments += 1
            self.count.rows += entry.rows
            self.count.size_bytes += entry.size_bytes
            return
        is_begun = f"{folder}/{layout.GENERATION}" in self._place.files
        retained = retained_of(self._spool, folder)
        if not is_begun and gathered.has_deleted(folder, retained, segment):
            return
        self.count.missing_segments += 1
        self._tell_once(f"{self._spool.root}/{folder} lists segment {segment}, which is not there")

    def _first_kept(self, folder: str, gathered: Gathered) -> int:
        """The first segment of a generation that is, or is to be, at the destination."""
        return gathered.retained(folder, self._place.files).first

    def _has_ended(self) -> bool:
        return self._files.has_ended() and self._spool.is_held() is not True

    # ---- on the host ----

    def _commit_new(self) -> None:
        """Have retention wait for what is not shipped yet."""
        for folder in self._files.generations():
            if folder not in self._committed:
                first = retained_of(self._spool, folder).first
                self._commit_to(folder, max(first, self._reached.get(folder, 0)))

    def _commit(self) -> None:
        """Let retention have what is at the destination."""
        self._commit_due_s = time.monotonic() + COMMIT_SECONDS
        for folder, segment in self._reached.items():
            if self._committed.get(folder, -1) < segment:
                self._commit_to(folder, segment)

    def _commit_to(self, folder: str, segment: int) -> None:
        path = f"{self._spool.root}/{folder}"
        try:
            self._spool.commit(path, self.reader, segment, None)
        except FileNotFoundError:
            pass  # somebody has deleted the generation
        except OSError as error:
            raise SpoolReadError(
                f"cannot commit to {path}: {reason_of(error)}",
                "ship as the user who writes the spool: its retention waits for what is committed",
            ) from None
        self._committed[folder] = segment

    def _tell_once(self, text: str) -> None:
        if text not in self._told:
            self._told.add(text)
            self._tell(text)

    def _locked(self) -> int:
        """A descriptor that keeps other shippers of this host from the same destination."""
        try:
            return self._spool.lock(f"{self._spool.root}/{_LOCKS}/{self.reader}")
        except BlockingIOError:
            raise SpoolError(
                f"another process ships {self._spool.root} to {self._destination}",
                "one is enough",
            ) from None
        except OSError as error:
            raise SpoolError(f"cannot ship {self._spool.root}: {reason_of(error)}") from None

    def close(self) -> None:
        """Let another ship."""
        os.close(self._lock)


def _spool_at(root: str) -> Place:
    """Raises SpoolReadError where there is no spool of this host."""
    if "://" in root:
        raise SpoolReadError(f"{root} is no folder of this host", "ship it where it is written")
    Spool(root)
    place = Place(None, os.path.realpath(root))
    if not os.path.isfile(f"{place.root}/{layout.SPOOL}"):
        raise SpoolReadError(
            f"{root} has no {layout.SPOOL}", "a run with `-o spool:PATH` writes it"
        )
    return place


def _check_apart(spool: Place, store: Place) -> None:
    if store.files is None:
        check_apart(NamedPlace(store.root, store.root), [NamedPlace(spool.root, spool.root)])


def _reader_name(store: Place) -> str:
    """The name by which the spool's retention knows it: the same for the same destination."""
    kind = "file" if store.files is None else store.files.type_name
    return f"ship-{hashlib.sha256(f'{kind}:{store.root}'.encode()).hexdigest()[:16]}"
