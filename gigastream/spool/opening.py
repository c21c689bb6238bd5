# SPDX-License-Identifier: Apache-2.0
"""The way into a track that is to be written: hold it, find its generation, begin a run."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

from gigastream.spool import layout
from gigastream.spool.entry import END, Entry
from gigastream.spool.errors import RAN_OUT, SpoolError
from gigastream.spool.files import lock_folder
from gigastream.spool.generation import Description, generations, make_generation
from gigastream.spool.manifest import ManifestWriter, read_all
from gigastream.spool.recovery import Found, find
from gigastream.spool.retention import Retention, Shelf
from gigastream.spool.settings import SECOND_NS, SpoolSettings
from gigastream.spool.track_log import TrackLog
from gigastream.spool.track_writer import Progress

_CLOCK_MARGIN_NS = SECOND_NS
"""Taken off what is trusted to be durable: lines are dated before they are."""


@dataclass(frozen=True, slots=True)
class Opened:
    """A track that is held, with the run's line written."""

    log: TrackLog
    resume: Progress
    next_segment: int


def open_log(folder: Path, description: Description, settings: SpoolSettings) -> Opened:
    """Open a track's folder for a run. Raises OSError; SpoolError if another run holds it."""
    try:
        lock = lock_folder(folder)
    except BlockingIOError:
        raise SpoolError(f"another run writes {folder}", "give each run its own spool") from None
    try:
        return _open_held(folder, lock, description, settings)
    except BaseException:
        os.close(lock)
        raise


def _open_held(
    folder: Path, lock: int, description: Description, settings: SpoolSettings
) -> Opened:
    unsynced_ns = (settings.sync_period_ns or 0) + _CLOCK_MARGIN_NS
    generation, found = _generation(folder, description, unsynced_ns)
    resume = Progress(*found.progress(len(description.schema)))
    manifest = ManifestWriter(generation / layout.MANIFEST)
    _begin_run(manifest, found, resume)
    log = TrackLog(generation, lock, manifest, _retention(folder, settings), settings)
    return Opened(log, resume, found.next_segment)


def _generation(folder: Path, description: Description, unsynced_ns: int) -> tuple[Path, Found]:
    """Return the generation to write: the newest if it goes on, else a new one."""
    number = max(generations(folder), default=0)
    newest = folder / layout.generation_name(number)
    if (newest / layout.MANIFEST).is_file():
        found = find(newest, unsynced_ns)
        if not found.is_ended:
            if description.is_of(newest):
                return newest, found
            _end(newest, found)
    return make_generation(folder, number + 1, description), Found()


def _end(generation: Path, found: Found) -> None:
    """End what another query set left open: no row follows, and its readers need not wait."""
    columns = max((len(entry.bounds) for entry in found.entries), default=0)
    progress = Progress(*found.progress(columns))
    manifest = ManifestWriter(generation / layout.MANIFEST)
    _begin_run(manifest, found, progress)
    manifest.append(_line("end", found, progress._replace(base_ns=END)))
    manifest.sync()
    manifest.close()


def _begin_run(manifest: ManifestWriter, found: Found, resume: Progress) -> None:
    """Write the run's line, then remove what it says is lost; on a full disk the other way.

    A crash in between has the next run tell of the same files once more.
    """
    line = _line("run", found, resume)
    try:
        manifest.append(line)
    except OSError as error:
        if error.errno not in RAN_OUT:
            raise
        _remove(found)
        manifest.append(line)
    manifest.sync()
    _remove(found)


def _line(kind: str, found: Found, progress: Progress) -> Entry:
    last = max((entry.last for entry in found.entries), default=0)
    lost = found.lost if kind == "run" else None
    return Entry(kind, None, 0, 0, 0, *progress, last, last, time.time_ns(), lost)


def _remove(found: Found) -> None:
    for path in found.unlisted:
        path.unlink(missing_ok=True)


def _retention(folder: Path, settings: SpoolSettings) -> Retention:
    """Return the shelves of all generations; none is read if nothing is ever deleted."""
    names = [layout.generation_name(number) for number in generations(folder)]
    return Retention(settings, [_shelf(folder / name, settings) for name in names])


def _shelf(generation: Path, settings: SpoolSettings) -> Shelf:
    manifest = generation / layout.MANIFEST
    entries = read_all(manifest)[0] if settings.deletes and manifest.is_file() else []
    return Shelf(generation, entries, settings.keep_margin_ns)
