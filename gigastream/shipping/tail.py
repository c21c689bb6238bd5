# SPDX-License-Identifier: Apache-2.0
"""The manifest of a generation, file by file, from where it has been shipped up to."""

from __future__ import annotations

from collections.abc import Iterator

from gigastream.late_dataclass import dataclass, field
from gigastream.shipping.room import Room
from gigastream.spool import Entry, SpoolReadError, TrackProgress, layout
from gigastream.spool.manifest import ManifestReader, ReadAt
from gigastream.spool.place import Place
from gigastream.spool.shipped_object import FileNews


@dataclass(frozen=True, slots=True)
class NewLines:
    """What is new of a file; of a manifest also as it is understood."""

    news: FileNews
    entries: list[Entry] = field(default_factory=list)


class ManifestTail:
    """Methods raise OSError."""

    def __init__(self, spool: Place, way: str) -> None:
        """`way` leads from the spool's root to the generation's folder."""
        self.way = way
        self.next_segment = 0
        """The number behind the last segment that was taken."""
        self.reached: TrackProgress | None = None
        """What the last line that was taken promises."""
        self.is_ended = False
        self.is_cut = False
        """Whether there may be more than there was room for."""
        self._spool = spool
        self._roll: int | None = None
        self._reader = ManifestReader()

    def resume(self, roll: int, size_bytes: int) -> bytes:
        """Go on in a file behind so many bytes, and return them. Raises SpoolReadError."""
        self._begin(roll)
        data = self._spool.read_at(self._path, 0, size_bytes)
        for entry in self._reader.poll(lambda at, size: data[at : at + size]):
            self._note(entry)
        if len(data) < size_bytes:
            raise SpoolReadError(
                f"{self._path} has {len(data)} bytes, of which {size_bytes} were shipped",
                "the spool was replaced, or lost lines when its machine went down: ship it to "
                "another place",
            )
        self._reader.offset = size_bytes
        return data

    def take(self, room: Room) -> Iterator[NewLines]:
        """Yield what is new, file by file, as far as there is room for it."""
        self.is_cut = False
        while self._find_roll():
            has_next = self._following() is not None
            lines = self._lines(room)
            if lines is not None:
                yield lines
            if room.is_full:
                self.is_cut = True
                return
            following = self._following() if has_next else None
            if following is None:
                return
            self._begin(following)

    def _find_roll(self) -> bool:
        if self._roll is None:
            rolls = self._rolls()
            if not rolls:
                return False
            self._begin(rolls[0])
        return True

    def _following(self) -> int | None:
        """The file behind this one, which has no more to come once there is one."""
        later = [roll for roll in self._rolls() if roll > (self._roll or 0)]
        return later[0] if later else None

    def _rolls(self) -> list[int]:
        try:
            names = self._spool.names(f"{self._spool.root}/{self.way}")
        except (FileNotFoundError, NotADirectoryError):
            return []
        return sorted(roll for roll in map(layout.roll_of, names) if roll is not None)

    def _begin(self, roll: int) -> None:
        self._roll = roll
        self._reader = ManifestReader(layout.manifest_name(roll))

    @property
    def _path(self) -> str:
        return f"{self._spool.root}/{self.way}/{self._reader.name}"

    def _lines(self, room: Room) -> NewLines | None:
        before, entries = self._reader.offset, []
        try:
            for entry in self._reader.poll(self._reads(before, room)):
                entries.append(entry)
                self._note(entry)
                room.take(entry)
                if room.is_full:
                    break
            data = self._spool.read_at(self._path, before, self._reader.offset - before)
        except FileNotFoundError:  # retention has deleted it: all that it lists was shipped
            return None
        room.text_bytes -= len(data)
        if not data:
            return None
        news = FileNews(f"{self.way}/{self._reader.name}", data, before)
        return NewLines(news, entries)

    def _reads(self, before: int, room: Room) -> ReadAt:
        """Bytes as far as there is room for them."""

        def read_at(offset: int, size_bytes: int) -> bytes:
            if offset - before >= room.text_bytes:
                return b""
            return self._spool.read_at(self._path, offset, size_bytes)

        return read_at

    def _note(self, entry: Entry) -> None:
        if entry.segment is not None:
            last = entry.segment + 1 if entry.is_segment else entry.segment
            self.next_segment = max(self.next_segment, last)
        self.reached = entry.progress
        self.is_ended |= entry.kind == "end"
