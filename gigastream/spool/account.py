# SPDX-License-Identifier: Apache-2.0
"""What a run has written into a spool or read out of it, stream by stream."""

from __future__ import annotations

from collections.abc import Iterable

from gigastream.late_dataclass import asdict, astuple, dataclass, field
from gigastream.spool import Entry, Lost, SpoolWriter, Track


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
    spool: str | None = None
    """Read: which of several spools, by its path; None where there is one."""

    def as_json(self) -> dict[str, object]:
        """Return it as plain data."""
        return asdict(self)


def written(writer: SpoolWriter) -> tuple[StreamAccount, ...]:
    """Return what a run has listed, stream by stream."""
    return tuple(
        StreamAccount(
            log.generation.stream,
            log.generation.interface,
            log.generation.number,
            log.listed.rows,
            log.listed.segments,
            log.listed.size_bytes,
            lost=log.listed.lost,
        )
        for log in writer.logs()
    )


@dataclass(slots=True)
class ReadAccount:
    """What was read of a track so far."""

    rows: int = 0
    """Listed, whether they could be read or not."""
    segments: int = 0
    bytes: int = 0
    lost_rows: int = 0
    retired_rows: int = 0

    def take(self, entry: Entry) -> None:
        """Count a line that is read."""
        if entry.is_segment:
            self.rows += entry.rows
            self.segments += 1
            self.bytes += entry.size_bytes
        elif entry.kind == "base":
            # Lines before it are gone with their segments.
            missed = max(0, entry.rows - self.rows)
            self.rows += missed
            self.retired_rows += missed

    def of(self, track: Track, spool: str | None) -> StreamAccount:
        """Return it with the track's name, and that of the spool where there are several."""
        return StreamAccount(
            track.stream,
            track.interface,
            track.generation,
            self.rows - self.lost_rows - self.retired_rows,
            self.segments,
            self.bytes,
            self.lost_rows,
            self.retired_rows,
            _sum(track.lost),
            spool,
        )


def _sum(losses: Iterable[Lost]) -> Lost:
    """Return all losses as one."""
    columns = zip(*map(astuple, losses), strict=True)
    return Lost(*map(sum, columns))
