# SPDX-License-Identifier: Apache-2.0
"""Which segments are deleted at the destination: as on the host, and by the readers there.

What is deleted is first told, in the generation's file `retained`. What the host's own retention
deletes stays at the destination.
"""

from __future__ import annotations

import json
import time
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from functools import partial

from gigastream.late_dataclass import asdict
from gigastream.shipping.destination import ShippingPlace
from gigastream.shipping.source import retained_in
from gigastream.shipping.tail import NewLines
from gigastream.spool import Entry, Retained, SpoolSettings, layout
from gigastream.spool.commits import ALL, CommitWatch, committed_segment
from gigastream.spool.manifest import ManifestReader
from gigastream.spool.place import Place
from gigastream.spool.retention import take_excess
from gigastream.spool.shipped_object import FileNews

PERIOD_SECONDS = 10.0
"""Between two looks at what readers have committed: each costs requests."""
_MAX_COMMIT_BYTES = 1 << 16


class _Kept:
    """The segments of a generation that are at the destination, the oldest first."""

    def __init__(self, store: Place, folder: str, margin_ns: int) -> None:
        self.folder = folder
        self.entries: deque[Entry] = deque()
        self.lasts: dict[int, int] = {}
        """By file of the manifest, the last segment that it lists."""
        self.retained = Retained()
        self.watch = CommitWatch(partial(_floor, store, f"{store.root}/{folder}"), margin_ns)

    @property
    def size_bytes(self) -> int:
        return sum(entry.size_bytes for entry in self.entries)


class ShippedRetention:
    """Of the settings what is kept counts. Methods raise OSError and ArrowException."""

    def __init__(self, place: ShippingPlace, settings: SpoolSettings) -> None:
        self._place = place
        self._settings = settings
        self._kept: dict[str, _Kept] = {}
        self._due_s = 0.0
        if settings.deletes:
            self._find()

    def take(self, lines: NewLines) -> None:
        """Take in what is told of a file."""
        folder, _, name = lines.news.path.rpartition("/")
        if self._settings.deletes and name == layout.RETAINED:
            self._of(folder).retained = retained_in(lines.news.data)
        roll = layout.roll_of(name)
        if not self._settings.deletes or roll is None:
            return
        kept = self._of(folder)
        kept.lasts.setdefault(roll, -1)
        for entry in lines.entries:
            if entry.is_segment and entry.segment is not None:
                kept.lasts[roll] = entry.segment
                if entry.segment >= kept.retained.first:
                    kept.entries.append(entry)

    def prune(self) -> None:
        """Tell of what need not be kept, then delete it, where that is due."""
        if not self._settings.deletes or time.monotonic() < self._due_s:
            return
        self._due_s = time.monotonic() + PERIOD_SECONDS
        deleted = {kept.folder: self._excess(kept) for kept in self._oldest_first()}
        news = [each for folder in deleted for each in self._news(folder, deleted[folder])]
        if news:
            self._place.tell(news)
        for folder, entries in deleted.items():
            for entry in entries:
                self._delete(folder, entry.segment or 0)

    def _find(self) -> None:
        """What an earlier shipper has brought; what it left half deleted is deleted now."""
        for way in sorted(self._place.files, key=_manifests_last):
            if way.startswith(f"{layout.STREAMS}/"):
                self.take(_lines(way, self._place.read(way)))
        for folder, kept in self._kept.items():
            with suppress(FileNotFoundError):
                for name in self._place.store.names(f"{self._place.store.root}/{folder}"):
                    number = layout.segment_of(name)
                    if number is not None and number < kept.retained.first:
                        self._delete(folder, number)

    def _of(self, folder: str) -> _Kept:
        if folder not in self._kept:
            self._kept[folder] = _Kept(self._place.store, folder, self._settings.keep_margin_ns)
        return self._kept[folder]

    def _oldest_first(self) -> list[_Kept]:
        return [self._kept[folder] for folder in sorted(self._kept)]

    def _excess(self, kept: _Kept) -> list[Entry]:
        """The segments of a generation that may go now, taken from those that are kept."""
        age_ns, most_bytes = self._settings.keep_age_ns, self._settings.keep_bytes
        made_before_ns = 0 if age_ns is None else time.time_ns() - age_ns
        excess_bytes = 0 if most_bytes is None else self._track_bytes(kept) - most_bytes
        if not kept.entries or (kept.entries[0].made_ns >= made_before_ns and excess_bytes <= 0):
            return []  # without a question to the store
        floor = kept.watch.floor(time.monotonic_ns())
        return take_excess(kept.entries, floor, made_before_ns, excess_bytes)

    def _track_bytes(self, kept: _Kept) -> int:
        """Of all generations of its track."""
        track = kept.folder.rpartition("/")[0]
        return sum(
            each.size_bytes
            for each in self._kept.values()
            if each.folder.rpartition("/")[0] == track
        )

    def _news(self, folder: str, deleted: list[Entry]) -> Iterator[FileNews]:
        if not deleted:
            return
        kept = self._kept[folder]
        kept.retained = kept.retained.after(deleted)
        text = json.dumps(asdict(kept.retained)).encode()
        yield FileNews(f"{folder}/{layout.RETAINED}", text)
        newest = max(kept.lasts, default=0)
        for roll, last in list(kept.lasts.items()):
            if roll != newest and last < kept.retained.first:
                del kept.lasts[roll]
                yield FileNews(f"{folder}/{layout.manifest_name(roll)}", None)

    def _delete(self, folder: str, segment: int) -> None:
        path = f"{self._place.store.root}/{folder}/{layout.segment_name(segment)}"
        self._place.store.delete(path)


def _manifests_last(way: str) -> tuple[bool, str]:
    """First what is retained of a generation, then its manifest."""
    return layout.roll_of(way.rpartition("/")[2]) is not None, way


def _lines(way: str, data: bytes) -> NewLines:
    news = FileNews(way, data)
    if layout.roll_of(way.rpartition("/")[2]) is None:
        return NewLines(news)
    return NewLines(news, list(ManifestReader().poll(lambda at, size: data[at : at + size])))


def _floor(store: Place, folder: str) -> int:
    """The least segment that some reader still needs, ALL if there is no reader."""
    readers = f"{folder}/{layout.READERS}"
    try:
        names = store.names(readers)
    except (FileNotFoundError, NotADirectoryError):
        return ALL
    said = (store.read_at(f"{readers}/{name}", 0, _MAX_COMMIT_BYTES) for name in names)
    return min(map(committed_segment, said), default=ALL)
