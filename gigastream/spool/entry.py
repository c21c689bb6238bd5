# SPDX-License-Identifier: Apache-2.0
"""A line of the manifest: what it says, as text and back.

A line is the CRC-32 of its text in eight hexadecimal digits, a blank, the text (JSON), a newline.
Each line is complete in itself: one that is torn or changed is told from a good one without its
neighbours. A bound that says nothing is `null`; a joint bound is there where one is known.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence
from typing import Any, NamedTuple

from gigastream.late_dataclass import asdict, dataclass, fields
from gigastream.punctuation import JointBound, greater

NOTHING = -(1 << 63)
"""The bound that promises nothing."""
END = (1 << 63) - 1
"""The bound that nothing is below: no later row."""

MAX_LINE_BYTES = 256 << 10
"""Longer lines are neither written nor held in memory by a reader."""
MAX_COUNT = END
KINDS = ("base", "segment", "punctuation", "run", "end")
_LATER = {"unwritten_rows"}
"""Of what was lost: written by later versions of the same format, where it is not 0."""
COUNTED = ("base", "segment")
"""Kinds that have a segment's number, rows and bytes."""

Range = tuple[int, int]
"""The least and the greatest of some values, as they are held."""
Ranges = tuple[Range | None, ...]
"""One for each column, None where nothing is known of it."""


@dataclass(frozen=True, slots=True)
class Lost:
    """What a run found missing of the run before, which did not end."""

    manifest_bytes: int = 0
    """Bytes of a torn last line."""
    segments: int = 0
    """Segment files that were not listed yet, now deleted."""
    segment_bytes: int = 0
    """Their bytes."""
    damaged_segments: int = 0
    """Listed segments that the crash left torn or changed."""
    damaged_rows: int = 0
    """Their rows."""
    unwritten_rows: int = 0
    """Rows that came while the spool could not be written, its files not yet listed included."""

    def __bool__(self) -> bool:
        return any(asdict(self).values())


class TrackProgress(NamedTuple):
    """How far a track has come: a bound a column, the base bound in packet time, a joint bound."""

    bounds: tuple[int, ...]
    base_ns: int
    joint: JointBound | None = None

    def advanced(
        self, bounds: Sequence[int], base_ns: int, joint: JointBound | None = None
    ) -> TrackProgress:
        """Return the later of two in every column: what was promised is not taken back.

        Raises ValueError for bounds that are not the track's.
        """
        if len(bounds) != len(self.bounds):
            raise ValueError(f"{len(bounds)} bounds for {len(self.bounds)} columns")
        joint_bounds = () if joint is None else joint.bounds
        if any(not NOTHING <= bound <= END for bound in (*bounds, base_ns, *joint_bounds)):
            raise ValueError("a bound is not a 64-bit number")
        return TrackProgress(
            tuple(map(max, self.bounds, bounds)),
            max(self.base_ns, base_ns),
            greater(self.joint, joint),
        )


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of the manifest.

    `bounds`: one for each column of the stream, as held (negated for decreasing ones); no row of a
    later segment is below. `joint`: the same of two columns together. `base_ns`: the first,
    carried back to packet time. `first`, `last`: the
    batches' sequence numbers. `checksum`: CRC-32 of the segment's file. `made_ns`: wall clock.
    A "base" begins a manifest that goes on from others: `segment` is the next one's number, `rows`
    and `size_bytes` are those of all before. `ranges`: of a segment's temporal columns, as held;
    older writers did not say them.
    """

    kind: str
    segment: int | None
    rows: int
    size_bytes: int
    checksum: int
    bounds: tuple[int, ...]
    base_ns: int
    first: int
    last: int
    made_ns: int
    lost: Lost | None = None
    joint: JointBound | None = None
    ranges: Ranges | None = None

    @property
    def is_segment(self) -> bool:
        return self.kind == "segment"

    @property
    def progress(self) -> TrackProgress:
        """How far the track has come by this line."""
        return TrackProgress(self.bounds, self.base_ns, self.joint)


class BadLineError(ValueError):
    """Bytes that are no line of a manifest; the text says why."""


def encode(entry: Entry) -> bytes:
    """Return the line of an entry, its newline included. Raises ValueError if it is too long."""
    text = json.dumps(_plain(entry), separators=(",", ":")).encode()
    line = b"%08x %s\n" % (zlib.crc32(text), text)
    if len(line) > MAX_LINE_BYTES:
        raise ValueError(f"a manifest line of {len(line)} bytes: the limit is {MAX_LINE_BYTES}")
    return line


def decode(line: bytes) -> Entry:
    """Return the entry of a line (without its newline). Raises BadLineError for any other bytes."""
    checksum, blank, text = line[:8], line[8:9], line[9:]
    if blank != b" " or checksum != b"%08x" % zlib.crc32(text):
        raise BadLineError("its checksum does not fit")
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        raise BadLineError("it is not JSON") from None
    if not isinstance(value, dict):
        raise BadLineError("it is not an object")
    return _entry(value)


def _plain(entry: Entry) -> dict[str, Any]:
    value: dict[str, Any] = {"kind": entry.kind}
    if entry.segment is not None:
        value |= {"segment": entry.segment, "rows": entry.rows, "size_bytes": entry.size_bytes}
    if entry.is_segment:
        value["checksum"] = entry.checksum
    value |= progress_to_json(entry.progress)
    value |= {"first": entry.first, "last": entry.last, "made_ns": entry.made_ns}
    if entry.lost is not None:
        value["lost"] = _lost_to_json(entry.lost)
    if entry.ranges is not None:
        value["ranges"] = entry.ranges
    return value


def progress_to_json(progress: TrackProgress) -> dict[str, Any]:
    """Return what a line, or the file of progress, says of how far a track has come."""
    value: dict[str, Any] = {
        "bounds": [_bound_or_null(bound) for bound in progress.bounds],
        "base_ns": _bound_or_null(progress.base_ns),
    }
    return value if progress.joint is None else value | {"joint": progress.joint._asdict()}


def progress_of(value: dict[str, Any]) -> TrackProgress:
    """Return what `progress_to_json` was given. Raises BadLineError."""
    bounds = _bounds(value.get("bounds"))
    joint = _joint(value.get("joint"), len(bounds))
    return TrackProgress(bounds, _bound(value.get("base_ns")), joint)


def _bound_or_null(bound: int) -> int | None:
    return None if bound == NOTHING else bound


def _entry(value: dict[str, Any]) -> Entry:
    kind = value.get("kind")
    if kind not in KINDS:
        raise BadLineError("it is of no known kind")
    is_segment, is_counted = kind == "segment", kind in COUNTED
    progress = progress_of(value)
    return Entry(
        kind=kind,
        segment=_count(value, "segment") if is_counted else None,
        rows=_count(value, "rows") if is_counted else 0,
        size_bytes=_count(value, "size_bytes") if is_counted else 0,
        checksum=_count(value, "checksum") if is_segment else 0,
        bounds=progress.bounds,
        base_ns=progress.base_ns,
        first=_count(value, "first"),
        last=_count(value, "last"),
        made_ns=_count(value, "made_ns"),
        lost=_lost(value.get("lost")) if kind == "run" else None,
        joint=progress.joint,
        ranges=_ranges(value.get("ranges"), len(progress.bounds)) if is_segment else None,
    )


def _count(value: dict[str, Any], name: str) -> int:
    number = value.get(name)
    if type(number) is not int or not 0 <= number <= MAX_COUNT:
        raise BadLineError(f"its {name} is no count")
    return number


def _bound(bound: object) -> int:
    if bound is None:
        return NOTHING
    if type(bound) is not int or not NOTHING <= bound <= END:
        raise BadLineError("a bound is not a 64-bit number")
    return bound


def _bounds(bounds: object) -> tuple[int, ...]:
    if not isinstance(bounds, list):
        raise BadLineError("it has no bounds")
    return tuple(_bound(bound) for bound in bounds)


def _joint(joint: object, column_count: int) -> JointBound | None:
    if joint is None:
        return None
    columns = joint.get("columns") if isinstance(joint, dict) else None
    bounds = _bounds(joint.get("bounds")) if isinstance(joint, dict) else ()
    if not isinstance(columns, list) or any(type(column) is not int for column in columns):
        raise BadLineError("its joint bound has no columns")
    if len(columns) != 2 or len(bounds) != 2 or not 0 <= columns[0] < columns[1] < column_count:
        raise BadLineError("its joint bound is not of two columns")
    return JointBound((columns[0], columns[1]), (bounds[0], bounds[1]))


def _ranges(ranges: object, column_count: int) -> Ranges | None:
    if ranges is None:
        return None
    if not isinstance(ranges, list) or len(ranges) != column_count:
        raise BadLineError("it has no range for each column")
    return tuple(None if each is None else _range(each) for each in ranges)


def _range(ends: object) -> Range:
    least, greatest = _bounds(ends) if isinstance(ends, list) and len(ends) == 2 else (END, NOTHING)
    if least > greatest:
        raise BadLineError("a range of its values is none")
    return least, greatest


def _lost_to_json(lost: Lost) -> dict[str, int]:
    """What a line says of it; older writers did not say what was not written."""
    value = asdict(lost)
    return (
        value
        if lost.unwritten_rows
        else {n: count for n, count in value.items() if n not in _LATER}
    )


def _lost(value: object) -> Lost:
    if not isinstance(value, dict):
        raise BadLineError("it does not say what was lost")
    names = [
        field.name for field in fields(Lost) if field.name not in _LATER or field.name in value
    ]
    return Lost(**{name: _count(value, name) for name in names})
