# SPDX-License-Identifier: Apache-2.0
"""Counters since the daemon began, over all capture processes."""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import NamedTuple, TypeVar

import msgspec

from gigastream.daemon.config_streams import is_port
from gigastream.daemon.messages import (
    CaptureReport,
    OutputStatistics,
    SetStatistics,
    StatusAnswer,
)
from gigastream.engine.statistics import (
    OF_FRAGMENTS,
    OF_SEGMENTS,
    LftaStatistics,
    OperatorStatistics,
    SourceStatistics,
)
from gigastream.gsql.stream_names import is_of_stream
from gigastream.late_dataclass import replace

_SUMMED = (
    *("read", "undecodable", "filtered", "late", "skew", "sampled_out", "decoded", "truncated"),
    *("bytes", "kernel_received", "kernel_dropped", "freezes", "nic_dropped", "oversized"),
    *("filtered_tagged", "carried", "clock_steps", "asked", "answered", "failures"),
)
"""Of a source: what goes on where an incarnation before has ended; the rest is of now."""
_OF_LFTAS = (
    *("not_of_protocol", "prefiltered", "rejected", "no_value", "accepted", "evicted"),
    *("rows_out", "forgotten", "opened", "unopened", "too_deep"),
    *OF_FRAGMENTS,
    *OF_SEGMENTS,
)
_OF_OPERATORS = (
    *("rows_in", "rows_out", "rejected", "no_value", "groups_refused", "rows_refused"),
    *("refused_for_memory", "beyond_limit", "out_of_order", "passed_over"),
)
_OF_OUTPUTS = ("rows", "lost", "bytes")
_Key = tuple[str, str]
"""Of a source: its label, and its interface."""
_Part = TypeVar("_Part", LftaStatistics, OperatorStatistics)


class _Moment(NamedTuple):
    """What totals are made of, replaced as one: other threads read it."""

    last: CaptureReport | None = None
    ended: Mapping[_Key, SourceStatistics] = {}
    ended_sets: Mapping[str, SetStatistics] = {}


class Totals:
    """Those of the incarnations that ended, and of now. Read from any thread."""

    def __init__(self) -> None:
        self._now = _Moment()

    def take(self, report: CaptureReport, held: Container[str] = ()) -> None:
        """The newest report; sets that are held no more are forgotten."""
        last, ended, ended_sets = self._now
        if last is not None and last.incarnation != report.incarnation:
            ended = {**ended, **{_key(source): _at_end(source) for source in self.sources}}
            ended_sets = {**ended_sets, **{each.name: each for each in self.sets}}
        kept = {name: each for name, each in ended_sets.items() if name in held}
        self._now = _Moment(report, ended, kept)

    @property
    def sources(self) -> tuple[SourceStatistics, ...]:
        """In the order of the newest report."""
        now = self._now
        return tuple(_total(source, now.ended) for source in now.last.sources) if now.last else ()

    @property
    def sets(self) -> tuple[SetStatistics, ...]:
        """The same; where files are read, which begin anew, the sets do, too."""
        last, _, ended = self._now
        if last is None:
            return ()
        if any(map(_begins_anew, last.sources)):
            return last.sets
        return tuple(_sum(ended[s.name], s) if s.name in ended else s for s in last.sets)


def _begins_anew(source: SourceStatistics) -> bool:
    """Files are read again from their beginning; links, ports, and what is over are not."""
    is_over = is_of_stream(source.interface) and source.is_ended
    return source.link is None and not is_port(source.label) and not is_over


def _total(source: SourceStatistics, before: Mapping[_Key, SourceStatistics]) -> SourceStatistics:
    ended = before.get(_key(source))
    if ended is None or _begins_anew(source):
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
