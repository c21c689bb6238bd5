# SPDX-License-Identifier: Apache-2.0
"""Retention by hand, of a spool that nobody writes: the same segments, in the same order.

A reader's last commit counts at once: a writer leaves it a minute, in case its reader's checkpoint
is not on the disk yet.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

from gigastream.late_dataclass import dataclass
from gigastream.spool import layout
from gigastream.spool.commits import ALL, committed_floor
from gigastream.spool.entry import END
from gigastream.spool.errors import writing
from gigastream.spool.files import numbers_in
from gigastream.spool.retention import RetainedSegments


@dataclass(frozen=True, slots=True)
class PruneWishes:
    """What is to go: what is older, what is beyond so many bytes a track, what is committed."""

    age_ns: int | None = None
    keep_bytes: int | None = None
    is_committed: bool = False
    """All that every reader is done with; nothing, where there is no reader."""
    is_forced: bool = False
    """Whether readers are not asked."""


@dataclass(frozen=True, slots=True)
class Pruned:
    """What goes of a generation, and what stays for its readers alone."""

    folder: str
    segments: int
    rows: int
    size_bytes: int
    held_segments: int
    held_bytes: int


def prune(root: Path, wishes: PruneWishes, *, is_done: bool) -> list[Pruned]:
    """Return what goes, generation by generation; deleted if it `is_done`. Raises SpoolError.

    Who calls it holds the spool.
    """
    with writing(f"cannot delete old segments in {root}"):
        return [
            pruned
            for track in _track_folders(root)
            for pruned in _prune_track(track, wishes, is_done=is_done)
        ]


def _track_folders(root: Path) -> Iterator[Path]:
    streams = root / layout.STREAMS
    for stream in sorted(streams.iterdir()) if streams.is_dir() else ():
        if stream.is_dir():
            yield from sorted(path for path in stream.iterdir() if path.is_dir())


def _prune_track(track: Path, wishes: PruneWishes, *, is_done: bool) -> Iterator[Pruned]:
    generations = [
        RetainedSegments(track / layout.number_name(number), 0, None)
        for number in numbers_in(track, layout.number_of)
    ]
    for generation in generations:
        generation.read_more()
    excess = 0
    if wishes.keep_bytes is not None:
        excess = sum(each.size_bytes for each in generations) - wishes.keep_bytes
    for generation in generations:
        pruned = _prune(generation, wishes, excess, is_done=is_done)
        excess -= pruned.size_bytes
        if pruned.segments or pruned.held_segments:
            yield pruned


def _prune(
    generation: RetainedSegments, wishes: PruneWishes, excess: int, *, is_done: bool
) -> Pruned:
    made_before_ns = 0 if wishes.age_ns is None else time.time_ns() - wishes.age_ns
    committed = committed_floor(generation.folder / layout.READERS)
    if wishes.is_committed and committed != ALL:
        made_before_ns = END
    floor = ALL if wishes.is_forced else committed
    wanted = generation.due(ALL, made_before_ns, excess)
    gone = generation.due(floor, made_before_ns, excess)
    if is_done:
        generation.prune(made_before_ns, excess, floor)
    gone_bytes = sum(entry.size_bytes for entry in gone)
    wanted_bytes = sum(entry.size_bytes for entry in wanted)
    rows, held = sum(entry.rows for entry in gone), len(wanted) - len(gone)
    return Pruned(
        str(generation.folder), len(gone), rows, gone_bytes, held, wanted_bytes - gone_bytes
    )
