# SPDX-License-Identifier: Apache-2.0
"""Capture files that several threads divide among themselves, each with LFTAs of its own.

Whoever is free takes the next extent of a file (csrc/capture/extents.h) and answers for the
packets that begin in it; how far time has come there is known from all that lies before. So each
packet is late or not, and each window closed or not, as if one had read them all, and the high
level makes one answer of what the LFTAs put out, as it does for the rings of a link. Of several
files each thread takes turns by their packets' time, as one that is alone does. Where groups
can be parted, each has a high level of its own for its part: exchanging_session.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from gigastream.engine.extents import DividedFile, Extents
from gigastream.engine.statistics import SourceStatistics, Statistics
from gigastream.late_dataclass import replace
from gigastream.plan import Plan
from gigastream.records.source import AnySource
from gigastream.sessions.shape import NO_OPTIONS, SessionOptions
from gigastream.sessions.threaded_session import ThreadedSession
from gigastream.settings import Settings
from gigastream.sources.files import FileSource
from gigastream.sources.packets import PacketSource
from gigastream.timestamps import EXTERNAL

_SUMS = (
    "read",
    "undecodable",
    "filtered",
    "filtered_tagged",
    "late",
    "decoded",
    "truncated",
    *("asked", "answered"),
)
_GREATEST = ("bytes", "total_bytes", "worst_lateness_ns", "high_ns", "promise_ns")


def why_undivided(
    plan: Plan, sources: Sequence[AnySource | PacketSource], settings: Settings
) -> str | None:
    """Return why one thread has to read all of it; None: several may."""
    if len({source.interface for source in sources}) != 1:
        return "files of several interfaces are read together"
    for source in sources:
        if not isinstance(source, FileSource) or not source.is_divisible:
            return "only capture files that are no pipes, and not compressed, are divided"
        if (source.timestamps or settings.timestamps) != EXTERNAL:
            return "packets have the time at which they are read"
    for name, option in _OF_ONE.items():
        if getattr(settings, name) not in (None, False):
            return f"{option} needs packets, or rows, in their order"
    return why_whole(plan)


def why_whole(plan: Plan) -> str | None:
    """Return of which node the answer would be another; None: of none."""
    if plan.watchlists:
        return "a watchlist is read again while packets are"
    return next((why for node in plan.nodes if (why := node.undivided) is not None), None)


_OF_ONE = {
    "packets_max": "--count",
    "speed": "--speed",
    "max_groups": "--max-groups",
    "max_rows": "--max-rows",
    "low_level_only": "the low level alone",
    "deliver_every_burst": "a row for each burst",
}


class DividedSession(ThreadedSession):
    """Like a Session over files, by as many threads as the setting `jobs` says."""

    def __init__(
        self,
        plan: Plan,
        sources: Sequence[FileSource],
        settings: Settings,
        options: SessionOptions = NO_OPTIONS,
        *,
        extent_bytes: int = 0,
    ) -> None:
        """Open all; `extent_bytes` 0: as suits the caches. SourceError, EngineError.

        why_undivided() has been asked. No timer sends heartbeats: no row waits for one.
        """
        readers = range(settings.jobs)
        self._extents = extents = Extents(len(sources), len(readers), extent_bytes)
        parts = [
            [
                replace(source, divided=DividedFile(extents, file, reader))
                for file, source in enumerate(sources)
            ]
            for reader in readers
        ]
        own = replace(settings, heartbeat_ns=0, heartbeat_packets=0)
        super().__init__(plan, parts, own, replace(options, parts=settings.jobs))

    def stop(self) -> None:
        """End the input behind what has been begun, which together is each file up to there."""
        self._extents.end()

    def close(self) -> None:
        """Give everything back; no thread waits for another any longer."""
        self._extents.end()
        super().close()

    def change(self, plan: Plan) -> NoReturn:
        """Refuse another plan (Session.change): no packet is the last before it for all threads."""
        from gigastream.sessions.changes import ChangeError

        raise ChangeError("several threads answer, and none knows where the others are", "jobs=1")

    def failure(self) -> None:
        """Nothing is read from memory (Session.failure)."""

    def statistics(self) -> Statistics:
        """The counters of all threads as those of one, and those of the high level."""
        statistics = super().statistics()
        parts = [part.sources for part in self._counted]
        return replace(statistics, sources=tuple(map(_united, zip(*parts, strict=True))))


def _united(parts: Sequence[SourceStatistics]) -> SourceStatistics:
    """Who is furthest has come as far as the file was read; one alone can meet its damage."""
    sums = {name: sum(getattr(part, name) for part in parts) for name in _SUMS}
    greatest = {name: max(getattr(part, name) for part in parts) for name in _GREATEST}
    damage = next((part.damage for part in parts if part.damage), None)
    is_ended = all(part.is_ended for part in parts)
    return replace(parts[0], **sums, **greatest, damage=damage, is_ended=is_ended)
