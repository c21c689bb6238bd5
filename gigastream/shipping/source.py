# SPDX-License-Identifier: Apache-2.0
"""What of a spool of this host has not been shipped yet.

Files are read in the order in which a reader's state stays whole: the index before what it names,
progress before the manifests that it promises something of.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Mapping

from gigastream.late_dataclass import asdict, dataclass, field
from gigastream.shipping.room import Room
from gigastream.shipping.tail import ManifestTail, NewLines
from gigastream.spool import Entry, SpoolReadError, layout
from gigastream.spool.address import address_of
from gigastream.spool.index import Index, parse_index
from gigastream.spool.place import Place, parse_object
from gigastream.spool.progress import TrackKey, TrackState, decode, encode, nothing
from gigastream.spool.retention import MAX_RETAINED_BYTES, Retained, decode_retained
from gigastream.spool.shipped_files import ShippedFile
from gigastream.spool.shipped_object import FileNews, check_small_path
from gigastream.spool.track import reason_of

_MAX_FILE_BYTES = 64 << 20
Shipped = Mapping[str, ShippedFile]


@dataclass(slots=True)
class Gathered:
    """What one object is to tell, and the segments that are to be there before it."""

    told: list[NewLines] = field(default_factory=list)
    is_cut: bool = False
    """Whether there was more than there was room for."""

    @property
    def files(self) -> list[FileNews]:
        return [lines.news for lines in self.told]

    @property
    def segments(self) -> Iterator[tuple[str, Entry]]:
        """The way to the generation's folder, and the line."""
        for lines in self.told:
            folder = lines.news.path.rpartition("/")[0]
            yield from ((folder, each) for each in lines.entries if each.is_segment)

    def retained(self, folder: str, shipped: Shipped) -> Retained:
        """What of a generation is not, and will not be, at the destination."""
        way = f"{folder}/{layout.RETAINED}"
        found = [news.data for news in self.files if news.path == way]
        known = shipped.get(way)
        return retained_in(found[-1] if found else None if known is None else known.tail)

    def has_deleted(self, folder: str, retained: Retained, segment: int) -> bool:
        """Whether retention has deleted a segment here before it was brought; it is told then."""
        if segment >= retained.first:
            return False
        text = json.dumps(asdict(retained)).encode()
        self.told.append(NewLines(FileNews(f"{folder}/{layout.RETAINED}", text)))
        return True


class SpoolFiles:
    """A spool that is shipped. Methods raise SpoolReadError where it cannot be read."""

    def __init__(self, spool: Place) -> None:
        self.index: Index | None = None
        """What spool.json says by now; None where it cannot be understood."""
        self.tails: dict[str, ManifestTail] = {}
        """By the way to the generation's folder."""
        self._spool = spool
        self._seen: dict[str, tuple[int, ...] | None] = {}
        self._states: dict[str, dict[TrackKey, TrackState]] = {}

    def resume(self, shipped: Shipped) -> None:
        """Go on behind what was shipped. Raises SpoolReadError where the spool is another one."""
        newest: dict[str, int] = {}
        for way in shipped:
            folder, _, name = way.rpartition("/")
            roll = layout.roll_of(name)
            if roll is not None:
                newest[folder] = max(roll, newest.get(folder, 0))
        for folder, roll in newest.items():
            tail = self.tails[folder] = ManifestTail(self._spool, folder)
            file = shipped[f"{folder}/{layout.manifest_name(roll)}"]
            try:
                data = tail.resume(roll, file.size_bytes)
            except FileNotFoundError:
                continue  # nothing more comes of a generation that is deleted here
            except OSError as error:
                raise self._unreadable(folder, error) from None
            if not _is_of(file, data):
                raise SpoolReadError(
                    f"{self._spool.root}/{folder} has other lines than those that were shipped",
                    "the spool was replaced: ship it to another place",
                )

    def gather(self, shipped: Shipped) -> Gathered:
        """Return what is new, as far as there is room for it in an object."""
        try:
            return self._gathered(shipped)
        except OSError as error:
            raise self._unreadable("", error) from None

    def has_ended(self) -> bool:
        """Whether every stream of the last run is at its end, as far as was gathered."""
        return self.index is not None and all(
            self._is_ended(*port, generation) for port, generation in self.index.generations.items()
        )

    def _is_ended(self, stream: str, interface: str, generation: int) -> bool:
        tail = self.tails.get(layout.generation_path(stream, interface, generation))
        states = self._states.get(layout.progress_path(interface), {})
        state = states.get((stream, generation))
        return (tail is not None and tail.is_ended) or (state is not None and state.is_ended)

    # ---- file by file ----

    def _gathered(self, shipped: Shipped) -> Gathered:
        gathered, room = Gathered(), Room()
        index = self._changed(layout.SPOOL, shipped)
        gathered.told += map(NewLines, [] if index is None else [index])
        gathered.told += map(NewLines, self._sets(shipped))
        progress = self._progress()
        for folder in self.generations():
            gathered.told += map(NewLines, self._small(folder, shipped))
            self._take(folder, room, gathered)
        gathered.told += map(NewLines, self._lowered(progress, shipped))
        gathered.is_cut = any(tail.is_cut for tail in self.tails.values())
        return gathered

    def _changed(self, way: str, shipped: Shipped) -> FileNews | None:
        """A file that is replaced, where it is another than the one that was shipped."""
        data = self._read_if_touched(way)
        if way == layout.SPOOL and data is not None:
            self.index = _index_of(data)
        known = shipped.get(way)
        is_known = known is not None and not known.pieces and known.tail == data
        return None if data is None or is_known else FileNews(way, data)

    def _read_if_touched(self, way: str) -> bytes | None:
        path = f"{self._spool.root}/{way}"
        try:
            signature = self._spool.signature(path)
            if self._seen.get(way) == signature:
                return None
            data = self._spool.read_at(path, 0, _MAX_FILE_BYTES)
        except FileNotFoundError:
            return None
        self._seen[way] = signature
        return data

    def _sets(self, shipped: Shipped) -> Iterator[FileNews]:
        """What is written once, under a name of its own."""
        for number in self._names(layout.SETS):
            for name in (layout.DESCRIPTIONS, layout.PLAN, layout.QUERIES):
                way = f"{layout.SETS}/{number}/{name}"
                if _is_way(way) and way not in shipped:
                    news = self._changed(way, shipped)
                    yield from () if news is None else (news,)

    def _progress(self) -> dict[str, bytes]:
        """By the way to it, the progress of interfaces that have some news."""
        found: dict[str, bytes] = {}
        for name in self._names(layout.PROGRESS):
            way = f"{layout.PROGRESS}/{name}"
            data = self._read_if_touched(way) if _is_way(way) else None
            if data is not None:
                found[way] = data
                self._states[way] = _states_of(data)
        return found

    def generations(self) -> Iterator[str]:
        """Yield the ways to the folders of all generations."""
        for stream in self._names(layout.STREAMS):
            for interface in self._names(f"{layout.STREAMS}/{stream}"):
                track = f"{layout.STREAMS}/{stream}/{interface}"
                for number in self._names(track):
                    if _is_way(f"{track}/{number}/{layout.GENERATION}"):
                        yield f"{track}/{number}"

    def _small(self, folder: str, shipped: Shipped) -> Iterator[FileNews]:
        """What stands beside a manifest; what was deleted before is deleted at the destination."""
        generation = self._changed(f"{folder}/{layout.GENERATION}", shipped)
        yield from () if generation is None else (generation,)
        way = f"{folder}/{layout.RETAINED}"
        if folder not in self.tails and way not in shipped:
            retained = self._changed(way, shipped)
            yield from () if retained is None else (retained,)

    def _take(self, folder: str, room: Room, gathered: Gathered) -> None:
        tail = self.tails.setdefault(folder, ManifestTail(self._spool, folder))
        gathered.told += tail.take(room)

    def _lowered(self, progress: Mapping[str, bytes], shipped: Shipped) -> Iterator[FileNews]:
        """Progress, which promises nothing of segments for which there was no room yet."""
        for way, data in progress.items():
            states = self._states[way]
            lowered = {key: self._as_shipped(way, key, state) for key, state in states.items()}
            if lowered != states:
                del self._seen[way]  # it is said once more
                data = encode(lowered)
            known = shipped.get(way)
            if known is None or known.tail != data:
                yield FileNews(way, data)

    def _as_shipped(self, way: str, key: TrackKey, state: TrackState) -> TrackState:
        stream, generation = key
        interface = address_of(way).interface
        tail = self.tails.get(layout.generation_path(stream, interface, generation))
        if tail is None or not tail.is_cut or state.next_segment <= tail.next_segment:
            return state
        reached = tail.reached or nothing(len(state.bounds)).progress
        return TrackState(*reached, next_segment=tail.next_segment)

    def _names(self, way: str) -> list[str]:
        try:
            return self._spool.names(f"{self._spool.root}/{way}")
        except (FileNotFoundError, NotADirectoryError):
            return []

    def _unreadable(self, way: str, error: OSError) -> SpoolReadError:
        path = f"{self._spool.root}/{way}".rstrip("/")
        return SpoolReadError(f"{path} cannot be read: {reason_of(error)}")


def retained_of(spool: Place, folder: str) -> Retained:
    """Return what retention has deleted of a generation on this host by now."""
    path = f"{spool.root}/{folder}/{layout.RETAINED}"
    try:
        return retained_in(spool.read_at(path, 0, MAX_RETAINED_BYTES))
    except OSError:
        return Retained()


def retained_in(data: bytes | None) -> Retained:
    """Return what such a file says; nothing where it cannot be understood."""
    try:
        return Retained() if data is None else decode_retained(data)
    except ValueError:
        return Retained()


def _is_way(way: str) -> bool:
    try:
        check_small_path(way)
    except ValueError:
        return False
    return True


def _index_of(data: bytes) -> Index | None:
    try:
        return parse_index(parse_object(data))
    except ValueError:
        return None  # readers are told of it as here


def _states_of(data: bytes) -> dict[TrackKey, TrackState]:
    try:
        return decode(data)
    except ValueError:
        return {}


def _is_of(file: ShippedFile, data: bytes) -> bool:
    """Whether bytes are those of a shipped file."""
    start = 0
    for piece in file.pieces:
        if zlib.crc32(data[start : start + piece.size_bytes]) != piece.checksum:
            return False
        start += piece.size_bytes
    return data[start:] == file.tail
