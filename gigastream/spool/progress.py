# SPDX-License-Identifier: Apache-2.0
"""How far the tracks of an interface have come: one file, replaced, that says it of all of them.

Progress is a state and not a history: what lies between two segments matters to nobody once it is
past, and the manifest has what held before each of them. So a silent track costs no byte however
long it is silent, and all silent tracks of an interface together a few replacements a second.
"""

from __future__ import annotations

import json
import threading
import time
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from gigastream.late_dataclass import dataclass, field
from gigastream.punctuation import JointBound
from gigastream.spool import layout
from gigastream.spool.entry import (
    MAX_COUNT,
    NOTHING,
    TrackProgress,
    progress_of,
    progress_to_json,
)
from gigastream.spool.files import replace

REPLACE_PERIOD_NS = 50_000_000
"""As often as a reader looks."""
MAX_BYTES = 64 << 20

TrackKey = tuple[str, int]
"""(stream, generation)."""


class TrackState(NamedTuple):
    """A track: its bounds behind all that is listed, and how much that is."""

    bounds: tuple[int, ...]
    base_ns: int
    joint: JointBound | None = None
    next_segment: int = 0
    size_bytes: int = 0
    is_ended: bool = False

    @property
    def progress(self) -> TrackProgress:
        """How far the track has come."""
        return TrackProgress(self.bounds, self.base_ns, self.joint)

    def at(self, progress: TrackProgress) -> TrackState:
        """Return the same track, come so far."""
        return self._replace(**progress._asdict())


def nothing(columns: int) -> TrackState:
    """Return the state of a track that has promised nothing."""
    return TrackState((NOTHING,) * columns, NOTHING)


def encode(states: Mapping[TrackKey, TrackState]) -> bytes:
    """Return the file's content; tracks that have come equally far are said together."""
    groups: dict[TrackState, dict[str, int]] = {}
    for (stream, generation), state in states.items():
        groups.setdefault(state, {})[stream] = generation
    value = [
        {
            **progress_to_json(state.progress),
            "next_segment": state.next_segment,
            "size_bytes": state.size_bytes,
            "ended": state.is_ended,
            "tracks": tracks,
        }
        for state, tracks in groups.items()
    ]
    text = json.dumps(value, separators=(",", ":")).encode()
    return b"%08x %s\n" % (zlib.crc32(text), text)


def decode(data: bytes) -> dict[TrackKey, TrackState]:
    """Return what `encode` was given; nothing of an empty file. Raises ValueError."""
    if not data:
        return {}
    text = data[9:-1]
    if data[8:9] != b" " or data[:8] != b"%08x" % zlib.crc32(text):
        raise ValueError("its checksum does not fit")
    try:
        groups = json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if not isinstance(groups, list):
        raise ValueError("it is not a list")
    return {key: state for group in groups for key, state in _group(group)}


def _group(group: Any) -> list[tuple[TrackKey, TrackState]]:
    if not isinstance(group, dict):
        raise ValueError("a group is not an object")
    tracks = group.get("tracks")
    if not isinstance(tracks, dict):
        raise ValueError("a group has no tracks")
    state = TrackState(
        *progress_of(group),
        _count(group.get("next_segment")),
        _count(group.get("size_bytes")),
        group.get("ended") is True,
    )
    return [((stream, _count(generation)), state) for stream, generation in tracks.items()]


def _count(number: object) -> int:
    if type(number) is not int or not 0 <= number <= MAX_COUNT:
        raise ValueError("a number is no count")
    return number


@dataclass
class ProgressWriter:
    """The states of an interface, and their file. Raises OSError.

    The listing thread writes it now and then, the writer's own thread at its start and end: one at
    a time.
    """

    path: Path
    states: dict[TrackKey, TrackState] = field(default_factory=dict)
    _is_dirty: bool = False
    _written_ns: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def tell(self, key: TrackKey, state: TrackState) -> None:
        """Remember a track's state, to be written soon."""
        with self._lock:
            if self.states.get(key) != state:
                self.states[key] = state
                self._is_dirty = True

    def write_if_due(self) -> float | None:
        """Write it if there is news and it is time; return the seconds until it is, if any."""
        if not self._is_dirty:
            return None
        wait_ns = self._written_ns + REPLACE_PERIOD_NS - time.monotonic_ns()
        if wait_ns > 0:
            return wait_ns / 1e9
        self.write()
        return None

    def write(self, *, durable: bool = False) -> None:
        """Write it now."""
        with self._lock:
            if self._is_dirty or durable:
                replace(self.path, encode(self.states), durable=durable)
                self._is_dirty = False
                self._written_ns = time.monotonic_ns()


def read_states(root: Path, interface: str) -> dict[TrackKey, TrackState]:
    """Return an interface's states for a writer; nothing where they cannot be read."""
    path = root / layout.progress_path(interface)
    try:
        return decode(path.read_bytes()) if path.is_file() and not path.is_symlink() else {}
    except (OSError, ValueError):
        return {}
