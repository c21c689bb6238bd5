# SPDX-License-Identifier: Apache-2.0
"""What `gigastream top` shows: two statuses, a second apart, as tables of rich."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from gigastream.daemon.messages import CaptureReport, SetStatistics, StatusAnswer
from gigastream.engine.statistics import END, NONE, SourceStatistics
from gigastream.words import counted

_BARS = "▁▂▃▄▅▆▇█"
_NS = 1e-9
HISTORY = 60
"""Looks that a sparkline shows, where there is room."""
_LEAST_BARS, _TABLE_WIDTH = 8, 80
"""Characters: of a sparkline on a narrow screen, and of what is left of it on a wide one."""


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
        """Remember one more status."""
        self.before, self.now = self.now, status
        if status.report is None:
            return
        for source in status.report.sources:
            self._remember(f"source:{source.label}", self.packets_per_second(source))
        for queries in status.report.sets:
            for query in queries.rows:
                rate = self.rows_per_second(queries, query)
                self._remember(f"query:{queries.name}.{query}", rate)

    def _remember(self, key: str, rate: float) -> None:
        self.rates.setdefault(key, deque(maxlen=HISTORY)).append(rate)

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
    """The rows at the bottom: of which query, and the newest of them."""

    query: str = ""
    columns: tuple[str, ...] = ()
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
        bars = max(_LEAST_BARS, min(HISTORY, width - _TABLE_WIDTH))
        links = _links(history, status.report, bars)
        queries = _queries(history, status.report, newest, bars, max(1, height // 3))
        parts += [links, queries]
        used += links.row_count + queries.row_count + 2
    parts.append(_rows(newest, max(1, height - used - 3)))
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


def _table(*columns: str) -> Table:
    table = Table(box=None, expand=True, header_style="dim", pad_edge=False)
    for place, column in enumerate(columns):
        is_text = place == 0 or column == ""
        table.add_column(column, justify="left" if is_text else "right", no_wrap=True)
    return table


def _links(history: History, report: CaptureReport, bars: int) -> Table:
    table = _table("link", "state", "packets/s", "bit/s", "dropped", "ring", "behind", "")
    rings = {ring.label: ring for ring in report.rings}
    for source in report.sources:
        ring = rings.get(source.label)
        full = f"{100 * ring.used // max(1, ring.blocks)} %" if ring is not None else "-"
        table.add_row(
            source.label,
            source.link or "file",
            short(history.packets_per_second(source)),
            short(history.bits_per_second(source)),
            Text(short(source.kernel_dropped), style="red" if source.kernel_dropped else ""),
            full,
            f"{source.lag_ns * _NS:.1f} s",
            sparkline(history.rates.get(f"source:{source.label}", ()), bars),
        )
    return table


def _queries(
    history: History, report: CaptureReport, newest: NewestRows, bars: int, most: int
) -> Table:
    table = _table("query", "selects", "evicted", "state", "behind", "lost", "rows/s", "rows", "")
    every = [(queries, query) for queries in report.sets for query in queries.rows]
    names = [f"{queries.name}.{query}" for queries, query in every]
    chosen = names.index(newest.query) if newest.query in names else 0
    first = max(0, min(chosen - most // 2, len(every) - most))  # the chosen one is on the screen
    for queries, query in every[first : first + most]:
        name = f"{queries.name}.{query}"
        table.add_row(
            Text(name, style="reverse" if name == newest.query else ""),
            _selectivity(queries),
            short(sum(lfta.evicted for lfta in queries.lftas)),
            short(sum(o.held_bytes for o in queries.operators)) + "B",
            _behind(report, queries, query),
            short(sum(output.lost for output in queries.outputs)),
            short(history.rows_per_second(queries, query)),
            short(queries.rows[query]),
            sparkline(history.rates.get(f"query:{name}", ()), bars),
        )
    if len(every) > most:
        table.add_row(Text(f"{most} of {len(every):,} queries", style="dim"))
    return table


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


def _rows(newest: NewestRows, most: int) -> RenderableType:
    title = newest.query or "no query yet"
    lost = f", {newest.lost:,} rows were not shown in time" if newest.lost else ""
    head = Text(f"{title}{lost}   n next query, q quit", style="dim")
    table = _table(*newest.columns)
    for row in _last(newest.rows, most):
        table.add_row(*row)
    return Group(Text(""), head, table)


def _last(rows: Iterable[tuple[str, ...]], most: int) -> Iterator[tuple[str, ...]]:
    yield from list(rows)[-most:]
