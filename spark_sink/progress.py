# SPDX-License-Identifier: Apache-2.0
"""How far a query on Spark has come: the counters of an operator of the engine's, by their names.

rows in, out, held and late are OPERATORS section 7's; what is behind is told by track.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import Any

from gigastream.spool import END, NOTHING
from spark_sink.offsets import Offsets, Position

_SECOND_NS = 10**9


@dataclass(frozen=True, slots=True)
class TrackLag:
    """How far a query is behind in a track of a spool."""

    track: str
    """Of several spools the spool's name before the interface's, of several streams the stream's
    before both."""
    segments_unread: int
    behind_ns: int
    """In packets' time, behind the track that is furthest."""


@dataclass(frozen=True, slots=True)
class QueryProgress:
    """Of this run, `micro_batches` alone of all runs of the checkpoint."""

    name: str
    micro_batches: int = 0
    rows_in: int = 0
    """Rows that were read, some of them again where a window was open."""
    rows_out: int | None = None
    """None: the sink does not say."""
    held: int = 0
    """Rows of Spark's state."""
    held_bytes: int = 0
    late: int = 0
    """Rows that came behind the answer of their window."""
    promised_ns: int = NOTHING
    """The watermark, in packets' time: nothing below comes out any more."""
    tracks: tuple[TrackLag, ...] = ()

    @property
    def behind_ns(self) -> int:
        """How far the track that all wait for is behind."""
        return max((track.behind_ns for track in self.tracks), default=0)

    @property
    def segments_unread(self) -> int:
        return sum(track.segments_unread for track in self.tracks)

    def as_json(self) -> dict[str, Any]:
        """Return it as plain data."""
        return asdict(self)


def lags(end: Offsets, known: Offsets, prefix: str = "") -> tuple[TrackLag, ...]:
    """The tracks of a stream, read up to `end`; `known` is how far the manifests go."""
    reached = [p.heartbeat_ns for p in known.values() if p.heartbeat_ns not in (END, NOTHING)]
    newest_ns = max(reached, default=NOTHING)
    return tuple(
        TrackLag(prefix + key, _unread(end[key], known.get(key)), _behind(end[key], newest_ns))
        for key in sorted(end)
    )


def _unread(position: Position, known: Position | None) -> int:
    """Segments of its own generation; what stands in later ones is not told apart."""
    if known is None:
        return 0
    if known.generation == position.generation:
        return max(0, known.segment - position.segment)
    return known.segment


def _behind(position: Position, newest_ns: int) -> int:
    """A track that has said nothing yet is not so much behind as not there."""
    if NOTHING in (position.heartbeat_ns, newest_ns) or position.heartbeat_ns == END:
        return 0
    return max(0, newest_ns - position.heartbeat_ns)


def with_places(progress: QueryProgress, places: Mapping[str, str]) -> QueryProgress:
    """The same, where spools that offsets know by their identity have the names of people."""
    tracks = (replace(each, track=_placed(each.track, places)) for each in progress.tracks)
    return replace(progress, tracks=tuple(tracks))


def _placed(track: str, places: Mapping[str, str]) -> str:
    for name, place in places.items():
        if f"{name}/" in track:
            return track.replace(name, place, 1)
    return track


def line_of(progress: QueryProgress) -> str:
    """What a log has of it: one line, the tracks that are behind by name."""
    parts = [f"{progress.rows_in:,} rows in"]
    if progress.rows_out is not None:
        parts.append(f"{progress.rows_out:,} out")
    parts += [
        f"{count:,} {name}" for name, count in (("held", progress.held), ("late", progress.late))
    ]
    parts.append(f"{progress.micro_batches:,} micro-batches")
    if progress.promised_ns not in (NOTHING, END):
        parts.append(f"up to {_clock(progress.promised_ns)}")
    behind = [track for track in progress.tracks if track.behind_ns or track.segments_unread]
    parts += map(_lag_text, sorted(behind, key=lambda track: -track.behind_ns)[:_SHOWN])
    if len(behind) > _SHOWN:
        parts.append(f"{len(behind) - _SHOWN:,} more tracks behind")
    return f"{progress.name}: {', '.join(parts)}"


_SHOWN = 5
"""Tracks that are named in a line."""


def _lag_text(track: TrackLag) -> str:
    unread = f" ({track.segments_unread:,} segments unread)" if track.segments_unread else ""
    return f"{track.track} {track.behind_ns / _SECOND_NS:,.1f} s behind{unread}"


def _clock(nanoseconds: int) -> str:
    try:
        return f"{datetime.fromtimestamp(nanoseconds // _SECOND_NS, UTC):%Y-%m-%d %H:%M:%S}"
    except (OverflowError, ValueError):  # no year of a calendar
        return f"{nanoseconds / _SECOND_NS:.0f} s"
