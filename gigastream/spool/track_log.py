# SPDX-License-Identifier: Apache-2.0
"""The lister's side of a track: durable files, the manifest's lines, retention.

Called by one thread at a time. Methods raise SpoolError.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from gigastream.spool.entry import Entry
from gigastream.spool.errors import writing
from gigastream.spool.files import checksum, sync
from gigastream.spool.manifest import ManifestWriter
from gigastream.spool.retention import Retention
from gigastream.spool.settings import SECOND_NS, SpoolSettings

_RETENTION_PERIOD_NS = SECOND_NS


class TrackLog:
    """What is on the disk of a track's newest generation."""

    def __init__(
        self,
        folder: Path,
        lock: int,
        manifest: ManifestWriter,
        retention: Retention,
        settings: SpoolSettings,
    ) -> None:
        self.folder = folder
        self._lock: int | None = lock
        self._manifest = manifest
        self._retention = retention
        self._deletes = settings.deletes
        self._sync_period_ns = settings.sync_period_ns
        self._unsynced: list[Path] = []
        self._is_manifest_unsynced = False
        now_ns = time.monotonic_ns()
        self._synced_ns = self._pruned_ns = now_ns

    def list_segment(self, path: Path, entry: Entry) -> None:
        """Add a finished segment's line, durable first if each segment is to be."""
        with writing(f"cannot list {path}"):
            self._unsynced.append(path)
            if self._sync_period_ns is None:
                self._sync_files()
            size_bytes, crc = checksum(path)
            listed = replace(entry, size_bytes=size_bytes, checksum=crc, made_ns=time.time_ns())
            self._manifest.append(listed)
            self._is_manifest_unsynced = True
            if self._deletes:
                self._retention.add(listed)

    def list_line(self, entry: Entry) -> None:
        """Add a line without rows; that of punctuation is made durable with the next segment."""
        with writing(f"cannot write the manifest in {self.folder}"):
            self._manifest.append(replace(entry, made_ns=time.time_ns()))
            self._is_manifest_unsynced |= entry.kind != "punctuation"

    def housekeep(self) -> None:
        """Do what the settings say is due by now."""
        if self._lock is None:
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
            if self._is_manifest_unsynced:
                self._manifest.sync()
        self._is_manifest_unsynced = False
        self._synced_ns = time.monotonic_ns()

    def prune(self) -> None:
        """Delete what need not be kept."""
        with writing(f"cannot delete old segments in {self.folder}"):
            self._retention.prune()
        self._pruned_ns = time.monotonic_ns()

    def close(self) -> None:
        """Make everything durable, delete what need not be kept, and let the track go."""
        if self._lock is None:
            return
        try:
            self.sync()
            if self._deletes:
                self.prune()
        finally:
            self.release()

    def release(self) -> None:
        """Let the track go, whatever has happened."""
        if self._lock is not None:
            self._manifest.close()
            os.close(self._lock)
            self._lock = None

    def _sync_files(self) -> None:
        for path in self._unsynced:
            # Under a period, retention may have deleted it since.
            with suppress(FileNotFoundError):
                sync(path)
        if self._unsynced:
            sync(self.folder)
        self._unsynced.clear()
