# SPDX-License-Identifier: Apache-2.0
"""A capture file that several threads divide among themselves, each with LFTAs of its own.

Whoever is free takes the next extent of the file (csrc/capture/extents.h) and answers for the
packets that begin in it; how far time has come there is known from all that lies before. So each
packet is late or not, and each window closed or not, as if one had read them all, and the high
level makes one answer of what the LFTAs put out, as it does for the rings of a link.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from gigastream.engine.extents import Extents
from gigastream.engine.statistics import SourceStatistics, Statistics
from gigastream.late_dataclass import dataclass, replace
from gigastream.plan import Plan
from gigastream.records.source import AnySource
from gigastream.sessions.shape import NO_OPTIONS, SessionOptions
from gigastream.sessions.threaded_session import ThreadedSession
from gigastream.settings import Settings
from gigastream.sources.files import FileSource
from gigastream.sources.packets import PacketSource
from gigastream.timestamps import EXTERNAL

_SUMS = ("read", "undecodable", "filtered", "filtered_tagged", "late", "decoded", "truncated")
_GREATEST = ("bytes", "worst_lateness_ns", "high_ns", "promise_ns")


@dataclass(frozen=True, slots=True)
class Undivided(Exception):  # noqa: N818  it is an answer more often than an error
    """Why one thread has to read all of it."""

    why: str

    def __str__(self) -> str:
        return self.why


def divisible(
    plan: Plan, sources: Sequence[AnySource | PacketSource], settings: Settings
) -> FileSource:
    """Return the file that the threads divide; Undivided says why there is none."""
    if settings.jobs == 1:
        raise Undivided("one is asked for")
    (source, *others) = sources
    if others:
        raise Undivided("several sources take turns by their packets' time")
    if not isinstance(source, FileSource) or not source.is_plain_pcap:
        raise Undivided("only a pcap file that is no pipe, and not compressed, is divided")
    if (source.timestamps or settings.timestamps) != EXTERNAL:
        raise Undivided("packets have the time at which they are read")
    for name, option in _OF_ONE.items():
        if getattr(settings, name) not in (None, False):
            raise Undivided(f"{option} needs packets, or rows, in their order")
    check_plan(plan)
    if plan.watchlists:
        raise Undivided("a watchlist is read again while packets are")
    return source


def check_plan(plan: Plan) -> None:
    """Undivided says of which node the answer would be another."""
    for node in plan.nodes:
        if (why := node.undivided) is not None:
            raise Undivided(why)


_OF_ONE = {
    "packets_max": "--count",
    "speed": "--speed",
    "max_groups": "--max-groups",
    "max_rows": "--max-rows",
    "low_level_only": "the low level alone",
    "deliver_every_burst": "a row for each burst",
}


class DividedSession(ThreadedSession):
    """Like a Session over one file, by as many threads as the setting `jobs` says."""

    def __init__(
        self,
        plan: Plan,
        source: FileSource,
        settings: Settings,
        options: SessionOptions = NO_OPTIONS,
        *,
        extent_bytes: int = 0,
    ) -> None:
        """Open all; `extent_bytes` 0: as suits the caches. SourceError, EngineError.

        No timer sends heartbeats: no row waits for one, and the threads would tell them each other.
        """
        self._extents = Extents(extent_bytes)
        parts = [[replace(source, extents=self._extents)] for _ in range(settings.jobs)]
        own = replace(settings, heartbeat_ns=0, heartbeat_packets=0)
        super().__init__(plan, parts, own, options)

    def stop(self) -> None:
        """End the input behind what has been begun, which together is the file up to there."""
        self._extents.end()

    def change(self, plan: Plan) -> NoReturn:
        """Refuse another plan (Session.change): no packet is the last before it for all threads."""
        from gigastream.sessions.changes import ChangeError

        raise ChangeError("several threads answer, and none knows where the others are", "jobs=1")

    def failure(self) -> None:
        """Nothing is read from memory (Session.failure)."""

    def statistics(self) -> Statistics:
        """The counters of all threads as those of one, and those of the high level."""
        statistics = super().statistics()
        return replace(statistics, sources=(_united(statistics.sources),))


def _united(parts: Sequence[SourceStatistics]) -> SourceStatistics:
    """Who is furthest has come as far as the file was read; one alone can meet its damage."""
    sums = {name: sum(getattr(part, name) for part in parts) for name in _SUMS}
    greatest = {name: max(getattr(part, name) for part in parts) for name in _GREATEST}
    damage = next((part.damage for part in parts if part.damage), None)
    is_ended = all(part.is_ended for part in parts)
    return replace(parts[0], **sums, **greatest, damage=damage, is_ended=is_ended)
