# SPDX-License-Identifier: Apache-2.0
"""A spool that is written: its tracks, and the thread that lists for all of them."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pyarrow

from gigastream.spool import layout
from gigastream.spool.errors import SpoolError, writing
from gigastream.spool.files import sync
from gigastream.spool.generation import Description
from gigastream.spool.lister import Lister
from gigastream.spool.opening import open_log
from gigastream.spool.settings import SECOND_NS, SpoolSettings
from gigastream.spool.track_log import TrackLog
from gigastream.spool.track_writer import TrackWriter


class SpoolWriter:
    """Writes a spool at `root`, which is made if need be; a context manager.

    Raises SpoolError where the root cannot be written.
    """

    def __init__(self, root: str | os.PathLike[str], settings: SpoolSettings | None = None) -> None:
        self.root = Path(root)
        self.settings = settings or SpoolSettings()
        self._tracks: list[TrackWriter] = []
        self._logs: list[TrackLog] = []
        with writing(f"cannot write a spool at {self.root}"):
            self.root.mkdir(parents=True, exist_ok=True)
        self._lister = Lister(self._housekeep, _period_ns(self.settings))

    def open_track(
        self,
        stream: str,
        interface: str,
        schema: pyarrow.Schema,
        columns: list[dict[str, Any]],
        plan: dict[str, Any],
        queries: dict[str, Any],
    ) -> TrackWriter:
        """Go on with the newest generation, or begin one if it ended or is of other queries.

        `columns`, `plan` and `queries` are what JSON can hold. Raises SpoolError: another run
        writes the track, the folder cannot be written, the disk is full.
        """
        description = Description(stream, interface, schema, columns, plan, queries)
        folder = self.root / layout.quoted(stream) / layout.quoted(interface)
        with writing(f"cannot write the spool's {folder}"):
            _make_durable(self.root, folder)
            opened = open_log(folder, description, self.settings)
        track = TrackWriter(
            opened.log, self._lister, schema, opened.resume, opened.next_segment, self.settings
        )
        self._logs.append(opened.log)
        self._tracks.append(track)
        return track

    def tick(self) -> None:
        """Cut what is old enough on every track; to be called now and then. Raises SpoolError."""
        for track in self._tracks:
            track.tick()

    def close(self) -> None:
        """List and make durable what is written, and let the tracks go. Raises SpoolError."""
        errors = [error for track in self._tracks for error in _met(track.close)]
        errors += _met(self._lister.close)
        for log in self._logs:
            log.release()
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

    def _housekeep(self) -> None:
        for log in list(self._logs):
            log.housekeep()


def _make_durable(root: Path, folder: Path) -> None:
    """Make a track's folder, and its way from the root durable."""
    folder.mkdir(parents=True, exist_ok=True)
    sync(folder.parent)
    sync(root)


def _met(act: Callable[[], None]) -> list[SpoolError]:
    """Do something, and return the SpoolError that it met."""
    try:
        act()
    except SpoolError as error:
        return [error]
    return []


def _period_ns(settings: SpoolSettings) -> int | None:
    """Return how often the lister has to look up by itself; None: only when something is listed."""
    periods = [settings.sync_period_ns] if settings.sync_period_ns is not None else []
    return min([*periods, SECOND_NS] if settings.deletes else periods, default=None)
