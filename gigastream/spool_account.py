# SPDX-License-Identifier: Apache-2.0
"""What a run has written into a spool or read out of it, stream by stream."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, astuple, dataclass, field
from itertools import takewhile
from pathlib import Path

from gigastream.spool import Entry, Lost, Spool, Track


@dataclass(frozen=True, slots=True)
class StreamAccount:
    """A stream of an interface."""

    stream: str
    interface: str
    generation: int
    rows: int
    segments: int
    bytes: int
    lost_rows: int = 0
    """Read: of segments that are damaged."""
    retired_rows: int = 0
    """Read: of segments that retention has deleted."""
    lost: Lost = field(default_factory=Lost)
    """By runs that did not end, as the run after each has found it."""

    def as_json(self) -> dict[str, object]:
        """Return it as plain data."""
        return asdict(self)


def written(root: str | Path) -> tuple[StreamAccount, ...]:
    """Return what the last run wrote, as the manifests have it. Raises SpoolReadError."""
    return tuple(_of_last_run(track) for track in Spool(root).tracks())


def _of_last_run(track: Track) -> StreamAccount:
    track.poll()
    own = list(takewhile(lambda entry: entry.kind != "run", reversed(track.entries)))
    return account(track, own)


def account(
    track: Track,
    entries: Iterable[Entry],
    *,
    lost_rows: int = 0,
    retired_rows: int = 0,
) -> StreamAccount:
    """Return the account of these entries of a track."""
    segments = [entry for entry in entries if entry.kind == "segment"]
    return StreamAccount(
        track.stream,
        track.interface,
        track.generation,
        sum(entry.rows for entry in segments) - lost_rows - retired_rows,
        len(segments),
        sum(entry.size_bytes for entry in segments),
        lost_rows,
        retired_rows,
        _sum(track.lost),
    )


def _sum(losses: Iterable[Lost]) -> Lost:
    """Return all losses as one."""
    columns = zip(*map(astuple, losses), strict=True)
    return Lost(*map(sum, columns))
