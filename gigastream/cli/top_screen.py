# SPDX-License-Identifier: Apache-2.0
"""What `gigastream top` shows: two statuses, a second apart, as tables of rich."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal

import msgspec
from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from gigastream.daemon.messages import CaptureReport, SetStatistics, StatusAnswer
from gigastream.daemon.totals import total_report
from gigastream.engine.statistics import END, NONE, SourceStatistics
from gigastream.gsql.stream_names import is_of_stream
from gigastream.late_dataclass import dataclass, field
from gigastream.outputs.cells import Times, cut, printable
from gigastream.words import counted

_BARS = "▁▂▃▄▅▆▇█"
_NS = 1e-9
HISTORY = 60
"""Looks that a sparkline shows, where there is room."""
_LEAST_BARS, _LEAST_TEXT, _GAP = 8, 8, 2
"""Characters: of a sparkline, or it is left out; of a text that gives way; between columns."""


def sparkline(values: Sequence[float], width: int = HISTORY) -> str:
    """The newest values as bars, the greatest of them being full."""
    shown = list(values)[-width:]
    most = max(shown, default=0)
    if most <= 0:
        return _BARS[0] * len(shown)
    return "".join(_BARS[min(7, int(value / most * 7.999))] for value in shown)


def short(number: float) -> str:
    """`12.3k`: three digits and a unit."""
    for unit in ("", "k", "M", "G", "T"):
        if abs(number) < 999.5:
            digits = 0 if not unit or abs(number) >= 99.5 else 1
            return f"{number:.{digits}f}{unit}"
        number /= 1000
    return f"{number:.0f}P"


@dataclass(slots=True)
class History:
    """What the screen remembers between two looks."""

    before: StatusAnswer | None = None
    now: StatusAnswer | None = None
    rates: dict[str, deque[float]] = field(default_factory=dict)
    """Packets a second by source, rows a second by query, as `source:` and `query:` keys."""

    def look(self, status: StatusAnswer) -> None:
        """Remember one more status, with counters over all capture processes."""
        status = msgspec.structs.replace(status, report=total_report(status))
        self.before, self.now = self.now, status
        rates = {} if status.report is None else dict(self._rates(status.report))
        self.rates = {key: self.rates.get(key, deque(maxlen=HISTORY)) for key in rates}
        for key, rate in rates.items():
            self.rates[key].append(rate)

    def _rates(self, report: CaptureReport) -> Iterator[tuple[str, float]]:
        for source in report.sources:
            yield f"source:{source.label}", self.packets_per_second(source)
        for queries in report.sets:
            for query in queries.rows:
                yield f"query:{queries.name}.{query}", self.rows_per_second(queries, query)

    def packets_per_second(self, source: SourceStatistics) -> float:
        """That were received since the look before."""
        return self._rate(source, lambda s: s.read + s.kernel_dropped)

    def bits_per_second(self, source: SourceStatistics) -> float:
        """That were captured since the look before."""
        return 8 * self._rate(source, lambda s: s.bytes)

    def rows_per_second(self, queries: SetStatistics, query: str) -> float:
        """That came out since the look before."""
        before = next((s for s in self._report_before().sets if s.name == queries.name), None)
        if before is None:
            return 0
        return max(0, queries.rows[query] - before.rows.get(query, 0)) / self._seconds()

    def _rate(self, source: SourceStatistics, counter: Callable[[SourceStatistics], int]) -> float:
        sources = self._report_before().sources
        before = next((s for s in sources if s.label == source.label), None)
        if before is None:
            return 0
        return max(0, counter(source) - counter(before)) / self._seconds()

    def _report_before(self) -> CaptureReport:
        """The last report but one of this incarnation; an empty one where there is none."""
        then = self.before.report if self.before is not None else None
        now = self.now.report if self.now is not None else None
        if then is None or now is None or then.incarnation != now.incarnation:
            return CaptureReport(incarnation=0, at_ns=0, sources=(), sets=())
        return then

    def _seconds(self) -> float:
        now = self.now.report if self.now is not None else None
        return max(1e-3, (now.at_ns - self._report_before().at_ns) * _NS) if now else 1


@dataclass(slots=True)
class NewestRows:
    """The rows at the bottom: of which query, and the newest of them, with their whole times."""

    query: str = ""
    columns: tuple[str, ...] = ()
    numeric: frozenset[int] = frozenset()
    """Which columns are numbers, which are times: these are never cut."""
    times: frozenset[int] = frozenset()
    rows: deque[tuple[str, ...]] = field(default_factory=lambda: deque(maxlen=100))
    lost: int = 0


def screen(history: History, newest: NewestRows, height: int, width: int = 120) -> RenderableType:
    """All of it, in so many lines of so many characters."""
    status = history.now
    if status is None:
        return Text("…")
    parts: list[RenderableType] = [_title(status)]
    used = 1
    if status.report is not None:
        links = _links(history, status.report, width)
        queries = _queries(history, status.report, newest, width, max(1, height // 3))
        parts += [links, queries]
        used += links.row_count + queries.row_count + 2
    parts.append(_rows(newest, max(1, height - used - 3), width))
    return Group(*parts)


def _title(status: StatusAnswer) -> Text:
    restarts = f", begun again {counted(status.restarts, 'time')}" if status.restarts else ""
    report = status.report
    if status.capture_pid is None or report is None:
        return Text(f"gigastream {status.version}: nothing is read now{restarts}", style="bold red")
    sampled = f", 1 in {1 << report.sampling_shift} flows" if report.sampling_shift else ""
    held = "" if report.memory is None else f", {short(report.memory.held_bytes)}B of state"
    text = (
        f"gigastream {status.version}: process {status.capture_pid}{sampled}{restarts}{held}, "
        f"{short(report.rss_anon_bytes)}B RssAnon"
    )
    return Text(text, style="bold", no_wrap=True, overflow="ellipsis")


@dataclass(frozen=True, slots=True)
class _Course:
    """Figures behind a name, and their course, which is shown where there is room behind them."""

    cells: tuple[str, ...]
    course: Sequence[float]
    styles: dict[int, str] = field(default_factory=dict)


def _figures(columns: Sequence[str], lines: Sequence[_Course], width: int) -> Table:
    """A table whose figures are whole: the course gives way to them, then the end of the names."""
    widths = _widths(columns, [line.cells for line in lines])
    room = width - _wide(widths)
    widths = _fitting(widths, {0}, width)
    table = _table(columns, widths, {0})
    bars = min(HISTORY, room - _GAP)
    if bars >= _LEAST_BARS:
        table.add_column("", no_wrap=True)
    for line in lines:
        cells = [
            Text(cut(cell, widths[at]), style=line.styles.get(at, ""))
            for at, cell in enumerate(line.cells[: len(widths)])
        ]
        table.add_row(*cells, *([sparkline(line.course, bars)] if bars >= _LEAST_BARS else []))
    return table


def _table(columns: Sequence[str], widths: Sequence[int], left: Iterable[int]) -> Table:
    table = Table(box=None, header_style="dim", pad_edge=False, padding=(0, _GAP, 0, 0))
    for at, (column, width) in enumerate(zip(columns, widths, strict=False)):
        justify: Literal["left", "right"] = "left" if at in left else "right"
        table.add_column(Text(column), justify=justify, no_wrap=True, min_width=width)
    return table


def _widths(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> list[int]:
    widths = [cell_len(column) for column in columns]
    for row in rows:
        widths = [max(width, cell_len(cell)) for width, cell in zip(widths, row, strict=True)]
    return widths


def _wide(widths: Sequence[int]) -> int:
    return sum(widths) + _GAP * (len(widths) - 1)


def _fitting(widths: Sequence[int], texts: Iterable[int], limit: int) -> list[int]:
    """The widths there is room for: the widest texts give way, then the last columns."""
    fitted = list(widths)
    while _wide(fitted) > limit:
        text = max((at for at in texts if at < len(fitted)), key=fitted.__getitem__, default=None)
        if text is not None and fitted[text] > _LEAST_TEXT:
            fitted[text] -= 1
        elif len(fitted) > 1:
            fitted = list(widths[: len(fitted) - 1])
        else:
            break
    return fitted


_LINK_COLUMNS = ("link", "state", "packets/s", "bit/s", "dropped", "ring", "behind")


def _links(history: History, report: CaptureReport, width: int) -> Table:
    rings = {ring.label: ring for ring in report.rings}
    lines = []
    for source in report.sources:
        ring = rings.get(source.label)
        cells = (
            printable(source.label),
            source.link or ("stream" if is_of_stream(source.interface) else "file"),
            short(history.packets_per_second(source)),
            short(history.bits_per_second(source)),
            short(source.kernel_dropped),
            f"{100 * ring.used // max(1, ring.blocks)} %" if ring is not None else "-",
            f"{source.lag_ns * _NS:.1f} s",
        )
        styles = {4: "red"} if source.kernel_dropped else {}
        lines.append(_Course(cells, history.rates.get(f"source:{source.label}", ()), styles))
    return _figures(_LINK_COLUMNS, lines, width)


_QUERY_COLUMNS = ("query", "selects", "evicted", "state", "behind", "lost", "rows/s", "rows")


def _queries(
    history: History, report: CaptureReport, newest: NewestRows, width: int, most: int
) -> Table:
    every = [(queries, query) for queries in report.sets for query in queries.rows]
    names = [f"{queries.name}.{query}" for queries, query in every]
    chosen = names.index(newest.query) if newest.query in names else 0
    first = max(0, min(chosen - most // 2, len(every) - most))  # the chosen one is on the screen
    lines = []
    for queries, query in every[first : first + most]:
        name = f"{queries.name}.{query}"
        styles = {0: "reverse"} if name == newest.query else {}
        course = history.rates.get(f"query:{name}", ())
        lines.append(_Course(_query_cells(history, report, queries, query), course, styles))
    table = _figures(_QUERY_COLUMNS, lines, width)
    if len(every) > most:
        table.add_row(Text(f"{most} of {len(every):,} queries", style="dim"))
    return table


def _query_cells(
    history: History, report: CaptureReport, queries: SetStatistics, query: str
) -> tuple[str, ...]:
    return (
        f"{queries.name}.{query}",
        _selectivity(queries),
        short(sum(lfta.evicted for lfta in queries.lftas)),
        short(sum(o.held_bytes for o in queries.operators)) + "B",
        _behind(report, queries, query),
        short(sum(output.lost for output in queries.outputs)),
        short(history.rows_per_second(queries, query)),
        short(queries.rows[query]),
    )


def _selectivity(queries: SetStatistics) -> str:
    packets = sum(lfta.packets for lfta in queries.lftas)
    accepted = sum(lfta.accepted for lfta in queries.lftas)
    return f"{100 * accepted / packets:.1f} %" if packets else "-"


def _behind(report: CaptureReport, queries: SetStatistics, query: str) -> str:
    if queries.failure is not None:
        return "failed"
    if queries.shed:
        return "rests"
    newest_ns = queries.newest_ns.get(query, NONE)
    return "-" if newest_ns in (NONE, END) else f"{(report.at_ns - newest_ns) * _NS:.1f} s"


def _rows(newest: NewestRows, most: int, width: int) -> RenderableType:
    """The newest rows, times below their day, which is told in the line above them."""
    title = newest.query or "no query yet"
    lost = f", {newest.lost:,} rows were not shown in time" if newest.lost else ""
    day, rows = _shortened(newest, most)
    head = f"{title}{day}{lost}   n next query, q quit"
    widths = _widths(newest.columns, rows)
    texts = [at for at in range(len(widths)) if at not in newest.numeric | newest.times]
    widths = _fitting(widths, texts, width)
    table = _table(newest.columns, widths, {*texts, *newest.times})
    for row in rows:
        table.add_row(*(Text(cut(cell, room)) for cell, room in zip(row, widths, strict=False)))
    heading = Text(head, style="dim", no_wrap=True, overflow="ellipsis")
    is_empty = newest.query != "" and not newest.rows
    return Group(Text(""), heading, Text(_WAITING) if is_empty else table)


_WAITING = "waiting for the first window"


def _shortened(newest: NewestRows, most: int) -> tuple[str, list[list[str]]]:
    """The newest rows with short times, and their first day; those of another day tell it."""
    rows = [[printable(cell) for cell in row] for row in list(newest.rows)[-most:]]
    found = Times(sorted(newest.times)).shorten(rows)
    days = [day for day, _ in found if day is not None]
    if len(days) < 2:
        return "".join(f", {day}" for day in days), [row for _, row in found]
    return "", [list(row) for row in list(newest.rows)[-most:]]  # over midnight: as they are
