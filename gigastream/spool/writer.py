# SPDX-License-Identifier: Apache-2.0
"""A spool that is written: its tracks, and the thread that lists for all of them."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from gigastream.spool import layout
from gigastream.spool.errors import SpoolError, writing
from gigastream.spool.files import read_object
from gigastream.spool.generation import Generation
from gigastream.spool.index import Port
from gigastream.spool.lock import lock_folder
from gigastream.spool.opening import Opening
from gigastream.spool.progress import ProgressWriter
from gigastream.spool.publisher import Publisher
from gigastream.spool.query_set import StoredQuerySet
from gigastream.spool.settings import SECOND_NS, SpoolSettings
from gigastream.spool.track_log import TrackLog
from gigastream.spool.track_writer import OpenFiles, TrackWriter

_LOST_AND_FOUND = "lost+found"
MOST_OPEN_FILES = 128
"""Segments of a spool that hold a descriptor; rows of the others wait in memory, or are cut."""


class SpoolWriter:
    """Writes a spool at `root`, which is made if need be; a context manager.

    Raises SpoolError where the root cannot be written, or is a folder of something else.
    """

    def __init__(self, root: str | os.PathLike[str], settings: SpoolSettings | None = None) -> None:
        self.root = Path(root).resolve()
        self.settings = settings or SpoolSettings()
        self._tracks: dict[Port, TrackWriter] = {}
        self._logs: list[TrackLog] = []
        self._progress: dict[str, ProgressWriter] = {}
        self._open_files = OpenFiles(MOST_OPEN_FILES)
        self._lock: int | None = None
        with writing(f"cannot write a spool at {self.root}"):
            self.root.mkdir(parents=True, exist_ok=True)
            _check_root(self.root)
        self._publisher = Publisher(self._housekeep)

    def open(
        self,
        query_set: StoredQuerySet,
        ports: Iterable[Port],
        anew: Collection[str] = (),
        live: Collection[str] = (),
        unwritten: Mapping[Port, int] | None = None,
    ) -> dict[Port, TrackWriter]:
        """Begin a run: each (stream, interface) goes on with its generation, or begins one.

        A generation goes on until it has ended, its stream's description changes, or its
        interface is read from its beginning again, which `anew` names the interfaces of. Time only
        goes on on those in `live`: a generation that begins there follows that before it, and
        readers read both. `unwritten` are rows that came while the spool could not be written:
        readers are told. Raises SpoolError: another run writes the spool, it cannot be written,
        the disk is full.
        """
        wanted = list(ports)
        for name in {name for port in wanted for name in port}:
            if not layout.is_name(name):
                raise SpoolError(f"a track of a spool cannot be called {name!r}")
        self._publisher.drain()
        if any(not track.is_over for track in self._tracks.values()):
            raise ValueError("the tracks of this writer are still open")
        with writing(f"cannot write the spool {self.root}"):
            self._hold()
            self._progress.clear()
            opening = Opening(self.root, self.settings, self._progress)
            logs = opening.open(query_set, wanted, anew, live, unwritten)
        self._logs = list(logs.values())
        self._tracks = {
            port: TrackWriter(
                log,
                self._publisher,
                query_set.streams[port[0]],
                self.settings,
                self._open_files,
            )
            for port, log in logs.items()
        }
        return self._tracks

    def is_there(self) -> bool:
        """Whether the folder that is held is still at its place."""
        try:
            return self._lock is None or os.path.samestat(os.fstat(self._lock), self.root.stat())
        except OSError:
            return False

    def abandon(self) -> list[TrackLog]:
        """Let the tracks go after an error, and hold the spool: open() may go on with it.

        Returns what was listed, track by track.
        """
        for track in self._tracks.values():
            _met(track.close)
        _met(self._publisher.close)
        logs, self._logs, self._tracks = self._logs, [], {}
        self._progress.clear()
        self._publisher = Publisher(self._housekeep)
        return logs

    def end(self) -> list[Generation]:
        """End, for its readers, what a writer that is gone has left open; return it.

        Raises SpoolError: there is no spool, another run writes it, it cannot be written.
        """
        with writing(f"cannot write the spool {self.root}"):
            self._hold()
            return Opening(self.root, self.settings, self._progress).end_all()

    def logs(self) -> list[TrackLog]:
        """Return what the run has listed, track by track; to be asked when it is closed."""
        return self._logs

    def tick(self) -> None:
        """Cut what is old enough on every track; to be called now and then. Raises SpoolError."""
        for track in self._tracks.values():
            track.tick()

    def close(self) -> None:
        """List and make durable what is written, and let the tracks go. Raises SpoolError."""
        errors = [error for track in self._tracks.values() for error in _met(track.close)]
        errors += _met(self._publisher.close)
        errors += _met(self._write_progress)
        if self._lock is not None:
            with suppress(OSError):  # nothing was written through it
                os.close(self._lock)
            self._lock = None
        if errors:
            raise errors[0]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None:
            self.close()
        else:
            with suppress(SpoolError):
                self.close()

    def _hold(self) -> None:
        """Keep others from writing the spool."""
        if self._lock is None:
            try:
                self._lock = lock_folder(self.root)
            except BlockingIOError:
                message = f"another run writes {self.root}"
                raise SpoolError(message, "give each run its own spool") from None

    def _housekeep(self) -> float | None:
        for log in list(self._logs):
            log.housekeep()
        with writing(f"cannot write the progress in {self.root}"):
            dues = [progress.write_if_due() for progress in list(self._progress.values())]
        wanted = (*dues, *_periods(self.settings))
        return min((due for due in wanted if due is not None), default=None)

    def _write_progress(self) -> None:
        with writing(f"cannot write the progress in {self.root}"):
            for progress in self._progress.values():
                progress.write(durable=True)


def _check_root(root: Path) -> None:
    """Refuse a folder that holds something else, or a spool of another format."""
    _refuse_newer(root)
    names = set(os.listdir(root)) - {_LOST_AND_FOUND}
    if not names or layout.SPOOL in names or layout.SETS in names:
        return
    if next(root.glob(f"*/*/*/{layout.FIRST_FORMAT_STREAM}"), None) is not None:
        raise SpoolError(
            f"{root} is a spool of format 1, which an earlier version wrote",
            "write into another folder; that version reads what is there",
        )
    raise SpoolError(
        f"{root} is neither empty nor a spool", "-o spool:DIR with a folder of its own"
    )


def _refuse_newer(root: Path) -> None:
    """Leave alone what a later version has written: this one would take it for damage."""
    index = read_object(root / layout.SPOOL)
    written = None if index is None else index.get("format")
    if type(written) is int and written > layout.FORMAT:
        raise SpoolError(
            f"{root} is a spool of format {written}, which a later version wrote",
            "write into another folder, or with that version",
        )


def _met(act: Callable[[], None]) -> list[SpoolError]:
    """Do something, and return the SpoolError that it met."""
    try:
        act()
    except SpoolError as error:
        return [error]
    return []


def _periods(settings: SpoolSettings) -> list[float]:
    """Return how often the publisher has to look up by itself, in seconds."""
    periods = [] if settings.sync_period_ns is None else [settings.sync_period_ns]
    return [period / SECOND_NS for period in (*periods, *[SECOND_NS] * settings.deletes)]
