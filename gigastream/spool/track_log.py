# SPDX-License-Identifier: Apache-2.0
"""The publisher's side of a track: durable files, the manifest's lines, progress, retention.

Called by one thread at a time, but for `make`. Methods raise SpoolError. Nothing is held open.
"""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path

from gigastream.late_dataclass import dataclass, field, replace
from gigastream.spool.entry import Entry, Lost
from gigastream.spool.errors import writing
from gigastream.spool.files import checksum, sync
from gigastream.spool.generation import Generation
from gigastream.spool.manifest import ManifestWriter
from gigastream.spool.progress import ProgressWriter, TrackState
from gigastream.spool.retention import Retention
from gigastream.spool.settings import SECOND_NS, SpoolSettings

_RETENTION_PERIOD_NS = SECOND_NS


@dataclass(slots=True)
class Listed:
    """What a run has listed of a track."""

    rows: int = 0
    segments: int = 0
    size_bytes: int = 0
    lost: Lost = field(default_factory=Lost)
    """Of the run before."""


class TrackLog:
    """What is on the disk of a track's newest generation."""

    def __init__(
        self,
        root: Path,
        generation: Generation,
        state: TrackState,
        manifest: ManifestWriter | None,
        progress: ProgressWriter,
        settings: SpoolSettings,
    ) -> None:
        """Without a manifest the generation has no folder yet."""
        self.generation = generation
        self.folder = generation.folder(root)
        self.state = state
        self.next_segment = state.next_segment
        self.listed = Listed()
        self._root = root
        self._key = generation.stream, generation.number
        self._manifest = manifest
        self._begun = self._recorded = state
        self._last = 0
        """What the manifest says."""
        self._progress = progress
        self._retention = Retention(settings, self.folder.parent)
        self._deletes = settings.deletes
        self._sync_period_ns = settings.sync_period_ns
        self._unsynced: list[Path] = []
        self._is_manifest_unsynced = False
        self._is_over = False
        if manifest is not None:
            self._retention.begin(self.folder, manifest)
        progress.tell(self._key, state)
        self._synced_ns = self._pruned_ns = time.monotonic_ns()

    def make(self) -> None:
        """Make the folder, for a segment's file."""
        with writing(f"cannot make {self.folder}"):
            self.generation.make(self._root)

    def list_segment(self, path: Path, entry: Entry) -> None:
        """Add a finished segment's line, durable first if each segment is to be."""
        with writing(f"cannot list {path}"):
            self._unsynced.append(path)
            if self._sync_period_ns is None:
                self._sync_files()
            size_bytes, crc = checksum(path)
            listed = replace(entry, size_bytes=size_bytes, checksum=crc, made_ns=time.time_ns())
            self._catch_up()
            self._append(listed)
            self._is_manifest_unsynced = True
            self._retention.add(listed)
        self.listed.rows += listed.rows
        self.listed.segments += 1
        self.listed.size_bytes += size_bytes
        state = self.state._replace(
            next_segment=(entry.segment or 0) + 1,
            size_bytes=self.state.size_bytes + size_bytes,
        )
        self._reach(state, entry)
        self._recorded = self.state

    def list_punctuation(self, entry: Entry) -> None:
        """Tell of progress without rows; the manifest gets it with what comes next."""
        self._reach(self.state, entry)

    def list_end(self, entry: Entry) -> None:
        """Tell that nothing follows in this generation."""
        if self._manifest is not None:
            with writing(f"cannot write the manifest in {self.folder}"):
                self._append(replace(entry, made_ns=time.time_ns()))
                self._is_manifest_unsynced = True
        self._reach(self.state._replace(is_ended=True), entry)
        self._recorded = self.state

    def housekeep(self) -> None:
        """Do what the settings say is due by now."""
        if self._is_over:
            return
        now_ns = time.monotonic_ns()
        if now_ns - self._synced_ns >= (self._sync_period_ns or 0):
            self.sync()
        if self._deletes and now_ns - self._pruned_ns >= _RETENTION_PERIOD_NS:
            self.prune()

    def sync(self) -> None:
        """Make everything durable that is listed."""
        with writing(f"cannot make {self.folder} durable"):
            self._sync_files()
            if self._is_manifest_unsynced and self._manifest is not None:
                self._manifest.sync()
        self._is_manifest_unsynced = False
        self._synced_ns = time.monotonic_ns()

    def prune(self) -> None:
        """Delete what need not be kept."""
        with writing(f"cannot delete old segments in {self.folder}"):
            self._retention.prune()
        self._pruned_ns = time.monotonic_ns()

    def oldest_ns(self) -> int | None:
        """When the oldest segment was listed that is kept, where old ones are deleted at all."""
        return self._retention.oldest_ns()

    def close(self) -> None:
        """Make everything durable, delete what need not be kept, and let the track go."""
        if self._is_over:
            return
        self._is_over = True
        if self._manifest is not None:
            with writing(f"cannot write the manifest in {self.folder}"):
                self._catch_up()
        self.sync()
        if self._deletes:
            self.prune()

    # ---- what is listed ----

    def _append(self, entry: Entry) -> None:
        """Add a line; the first one is a run's."""
        if self._manifest is None:
            self._manifest = ManifestWriter(self.folder)
            self._retention.begin(self.folder, self._manifest)
            run = self._line("run", self._begun, 0)
            self._manifest.append(replace(run, lost=self.listed.lost))
        self._manifest.append(entry)

    def _catch_up(self) -> None:
        """Say in the manifest how far progress had come before what is listed next."""
        if self.state.progress != self._recorded.progress:
            self._append(self._line("punctuation", self.state, self._last))
            self._is_manifest_unsynced = True
            self._recorded = self.state

    def _line(self, kind: str, state: TrackState, sequence: int) -> Entry:
        now_ns = time.time_ns()
        bounds, base_ns, joint = state.progress
        return Entry(kind, None, 0, 0, 0, bounds, base_ns, sequence, sequence, now_ns, joint=joint)

    def _reach(self, state: TrackState, entry: Entry) -> None:
        self._last = entry.last
        self.state = state.at(entry.progress)
        self._progress.tell(self._key, self.state)

    def _sync_files(self) -> None:
        for path in self._unsynced:
            # Under a period, retention may have deleted it since.
            with suppress(FileNotFoundError):
                sync(path)
        if self._unsynced:
            sync(self.folder)
        self._unsynced.clear()
