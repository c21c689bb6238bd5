# SPDX-License-Identifier: Apache-2.0
"""Counters since the daemon began, over all capture processes."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import replace
from typing import TypeVar

import msgspec

from gigastream.daemon.messages import (
    CaptureReport,
    OutputStatistics,
    SetStatistics,
    StatusAnswer,
)
from gigastream.engine.statistics import (
    LftaStatistics,
    OperatorStatistics,
    SourceStatistics,
)

_SUMMED = (
    *("read", "undecodable", "filtered", "late", "skew", "sampled_out", "decoded", "truncated"),
    *("bytes", "kernel_received", "kernel_dropped", "freezes", "nic_dropped", "oversized"),
    *("filtered_tagged", "carried", "clock_steps", "asked", "answered", "failures"),
)
"""Of a source: what goes on where an incarnation before has ended; the rest is of now."""
_OF_LFTAS = (
    *("not_of_protocol", "prefiltered", "rejected", "no_value", "accepted", "evicted"),
    "rows_out",
)
_OF_OPERATORS = (
    *("rows_in", "rows_out", "rejected", "no_value", "groups_refused", "rows_refused"),
    *("refused_for_memory", "beyond_limit", "out_of_order"),
)
_OF_OUTPUTS = ("rows", "lost", "bytes")
_Key = tuple[str, str]
"""Of a source: its label, and its interface."""
_Part = TypeVar("_Part", LftaStatistics, OperatorStatistics)


class Totals:
    """Those of the incarnations that ended, and of now; made with a report: threads read them."""

    def __init__(self) -> None:
        self._ended: dict[_Key, SourceStatistics] = {}
        self._ended_sets: dict[str, SetStatistics] = {}
        self._last: CaptureReport | None = None
        self.sources: tuple[SourceStatistics, ...] = ()
        """In the order of the newest report."""
        self.sets: tuple[SetStatistics, ...] = ()
        """The same; where files are read, which begin anew, the sets do, too."""

    def take(self, report: CaptureReport, held: Container[str] = ()) -> None:
        """The newest report; sets that are held no more are forgotten."""
        last = self._last
        if last is not None and last.incarnation != report.incarnation:
            self._ended |= {_key(source): _at_end(self._total(source)) for source in last.sources}
            self._ended_sets |= {each.name: each for each in self.sets}
        self._ended_sets = {n: each for n, each in self._ended_sets.items() if n in held}
        self._last = report
        self.sources = tuple(map(self._total, report.sources))
        self.sets = self._totals_of_sets(report)

    def _totals_of_sets(self, report: CaptureReport) -> tuple[SetStatistics, ...]:
        if any(source.link is None for source in report.sources):
            return report.sets
        ended = self._ended_sets
        return tuple(_sum(ended[s.name], s) if s.name in ended else s for s in report.sets)

    def _total(self, source: SourceStatistics) -> SourceStatistics:
        ended = self._ended.get(_key(source))
        if ended is None or source.link is None:  # a file is read again from its beginning
            return source
        sums = {name: getattr(ended, name) + getattr(source, name) for name in _SUMMED}
        return replace(source, **sums)


def total_report(status: StatusAnswer) -> CaptureReport | None:
    """The report of a status, with counters since the daemon began."""
    report = status.report
    if report is None:
        return None
    sources, sets = status.sources or report.sources, status.set_totals or report.sets
    return msgspec.structs.replace(report, sources=sources, sets=sets)


def _key(source: SourceStatistics) -> _Key:
    return source.label, source.interface


def _at_end(source: SourceStatistics) -> SourceStatistics:
    """What lay in the ring, unread, is the next one's."""
    return replace(source, kernel_received=source.read + source.kernel_dropped, unread=0)


def _sum(ended: SetStatistics, now: SetStatistics) -> SetStatistics:
    """Counters of both; all else is of now."""
    lftas = {(each.name, each.interface): each for each in ended.lftas}
    operators = {(each.name, each.kind): each for each in ended.operators}
    outputs = {(each.format, each.path): each for each in ended.outputs}
    return msgspec.structs.replace(
        now,
        rows={query: rows + ended.rows.get(query, 0) for query, rows in now.rows.items()},
        cut_rows=ended.cut_rows + now.cut_rows,
        lftas=tuple(_part(lftas.get((s.name, s.interface)), s, _OF_LFTAS) for s in now.lftas),
        operators=tuple(
            _part(operators.get((s.name, s.kind)), s, _OF_OPERATORS) for s in now.operators
        ),
        outputs=tuple(_output(outputs.get((s.format, s.path)), s) for s in now.outputs),
    )


def _part(ended: _Part | None, now: _Part, names: tuple[str, ...]) -> _Part:
    if ended is None:
        return now
    both = {name: (getattr(ended, name), getattr(now, name)) for name in names}
    return replace(now, **{n: a + b for n, (a, b) in both.items() if a is not None})


def _output(ended: OutputStatistics | None, now: OutputStatistics) -> OutputStatistics:
    if ended is None:
        return now
    sums = {name: getattr(ended, name) + getattr(now, name) for name in _OF_OUTPUTS}
    return msgspec.structs.replace(now, **sums)
