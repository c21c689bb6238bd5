# SPDX-License-Identifier: Apache-2.0
"""The daemon's counters as Prometheus reads them, from the newest report of the capture process.

Each family is a line of a table. Counters of sources are since the daemon began; those of sets are
the running capture process's and begin again when one has crashed, as Prometheus expects.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
from prometheus_client import CollectorRegistry, make_wsgi_app
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, InfoMetricFamily
from prometheus_client.registry import Collector

from gigastream.daemon.loader_metrics import table_metrics
from gigastream.daemon.messages import CaptureReport, SetStatistics, StatusAnswer
from gigastream.daemon.metrics_server import bounded_server
from gigastream.engine.statistics import END, GAPS, LOST_FRAGMENTS, NONE
from gigastream.late_dataclass import dataclass

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric

_NS = 1e-9
PACKET_OUTCOMES = {
    "kernel_dropped": "dropped",
    "undecodable": "undecodable",
    "filtered": "filtered",
    "late": "late",
    "skew": "skew",
    "sampled_out": "sampled_out",
    "decoded": "decoded",
}
"""Counters of a source, and what a label calls them: together they are what was received."""
LFTA_OUTCOMES = ("not_of_protocol", "prefiltered", "rejected", "no_value", "accepted")


@dataclass(frozen=True, slots=True)
class _Family:
    """What a metric is, and where in a report its samples are."""

    name: str
    about: str
    labels: tuple[str, ...]
    samples: Callable[[CaptureReport], Iterable[tuple[tuple[str, ...], float]]]
    is_counter: bool = False

    def metric(self, report: CaptureReport) -> Metric:
        kind: Any = CounterMetricFamily if self.is_counter else GaugeMetricFamily
        family: Metric = kind(f"gigastream_{self.name}", self.about, labels=self.labels)
        for labels, value in self.samples(report):
            family.add_metric(labels, value)  # type: ignore[attr-defined]
        return family


_Samples = Callable[[CaptureReport], Iterator[tuple[tuple[str, ...], float]]]


def _of_sources(field: str, factor: float = 1) -> _Samples:
    def samples(report: CaptureReport) -> Iterator[tuple[tuple[str, ...], float]]:
        for source in report.sources:
            yield (source.label, source.interface), getattr(source, field) * factor

    return samples


def _of_lftas(field: str) -> _Samples:
    def samples(report: CaptureReport) -> Iterator[tuple[tuple[str, ...], float]]:
        for queries in report.sets:
            for lfta in queries.lftas:
                yield (queries.name, lfta.name, lfta.interface), getattr(lfta, field)

    return samples


def _of_operators(field: str) -> _Samples:
    def samples(report: CaptureReport) -> Iterator[tuple[tuple[str, ...], float]]:
        for queries in report.sets:
            for operator in queries.operators:
                labels = (queries.name, operator.name, operator.kind)
                yield labels, getattr(operator, field) or 0

    return samples


def _of_outputs(field: str) -> _Samples:
    def samples(report: CaptureReport) -> Iterator[tuple[tuple[str, ...], float]]:
        for queries in report.sets:
            for output in queries.outputs:
                yield (queries.name, output.format, output.path), float(getattr(output, field))

    return samples


def _spool_ages(report: CaptureReport) -> Iterator[tuple[tuple[str, ...], float]]:
    for queries in report.sets:
        for output in queries.outputs:
            if output.oldest_ns is not None:
                age_ns = report.at_ns - output.oldest_ns
                yield (queries.name, output.format, output.path), max(0.0, age_ns * _NS)


def _of_sets(value: Callable[[SetStatistics], float]) -> _Samples:
    def samples(report: CaptureReport) -> Iterator[tuple[tuple[str, ...], float]]:
        for queries in report.sets:
            yield (queries.name,), value(queries)

    return samples


def _of_capture(value: Callable[[CaptureReport], float]) -> _Samples:
    def samples(report: CaptureReport) -> Iterator[tuple[tuple[str, ...], float]]:
        yield (), value(report)

    return samples


def _received(report: CaptureReport) -> Iterator[tuple[tuple[str, ...], float]]:
    """What a link's kernel has counted; of a file what was read."""
    for source in report.sources:
        labels = (source.label, source.interface)
        yield labels, source.read + source.kernel_dropped


def _packets(report: CaptureReport) -> Iterator[tuple[tuple[str, ...], float]]:
    for source in report.sources:
        for field, outcome in PACKET_OUTCOMES.items():
            yield (source.label, source.interface, outcome), getattr(source, field)


def _link_up(report: CaptureReport) -> Iterator[tuple[tuple[str, ...], float]]:
    for source in report.sources:
        if source.link is not None:
            yield (source.label, source.interface), float(source.link == "up")


def _lfta_packets(report: CaptureReport) -> Iterator[tuple[tuple[str, ...], float]]:
    for queries in report.sets:
        for lfta in queries.lftas:
            for outcome in LFTA_OUTCOMES:
                labels = (queries.name, lfta.name, lfta.interface, outcome)
                yield labels, getattr(lfta, outcome)


def _lost_fragments(report: CaptureReport) -> Iterator[tuple[tuple[str, ...], float]]:
    """Of low-level queries that have seen fragments, and put datagrams together."""
    return _by_cause(report, "fragments", LOST_FRAGMENTS)


def _gaps(report: CaptureReport) -> Iterator[tuple[tuple[str, ...], float]]:
    """Of low-level queries to which segments of TCP come in order."""
    return _by_cause(report, "segments", GAPS)


def _by_cause(
    report: CaptureReport, seen: str, causes: Sequence[str]
) -> Iterator[tuple[tuple[str, ...], float]]:
    """Counters of low-level queries that have `seen` any; a label is what follows the first _."""
    for queries in report.sets:
        for lfta in queries.lftas:
            for cause in causes if getattr(lfta, seen) else ():
                labels = (queries.name, lfta.name, lfta.interface)
                yield (*labels, cause.partition("_")[2]), getattr(lfta, cause)


def _rows(report: CaptureReport) -> Iterator[tuple[tuple[str, ...], float]]:
    for queries in report.sets:
        for query, rows in queries.rows.items():
            yield (queries.name, query), rows


def _lags(report: CaptureReport) -> Iterator[tuple[tuple[str, ...], float]]:
    """How far what a query promises is behind the clock; nothing of one that promises nothing."""
    for queries in report.sets:
        for query, newest_ns in queries.newest_ns.items():
            if newest_ns not in (NONE, END):
                yield (queries.name, query), (report.at_ns - newest_ns) * _NS


def _rings(field: str) -> _Samples:
    def samples(report: CaptureReport) -> Iterator[tuple[tuple[str, ...], float]]:
        for ring in report.rings:
            yield (ring.label,), getattr(ring, field)

    return samples


_SOURCE, _LFTA = ("source", "interface"), ("set", "lfta", "interface")
_OPERATOR, _OUTPUT = ("set", "operator", "kind"), ("set", "format", "path")
_FAMILIES = (
    _Family("received_packets", "Packets of a source", _SOURCE, _received, True),
    _Family(
        "packets",
        "The same packets by what became of them",
        (*_SOURCE, "outcome"),
        _packets,
        True,
    ),
    _Family("source_bytes", "Bytes that were captured", _SOURCE, _of_sources("bytes"), True),
    _Family("nic_dropped_packets", "By the device", _SOURCE, _of_sources("nic_dropped"), True),
    _Family("truncated_packets", "Cut by the snap length", _SOURCE, _of_sources("truncated"), True),
    _Family("ring_freezes", "How often a ring was full", _SOURCE, _of_sources("freezes"), True),
    _Family("clock_steps", "Steps of the clock seen", _SOURCE, _of_sources("clock_steps"), True),
    _Family("source_failures", "Silences beyond liveness", _SOURCE, _of_sources("failures"), True),
    _Family("source_lag_seconds", "Behind the clock", _SOURCE, _of_sources("lag_ns", _NS)),
    _Family("link_up", "Whether a link is up", _SOURCE, _link_up),
    _Family("ring_blocks", "Blocks of a ring", ("source",), _rings("blocks")),
    _Family("ring_blocks_used", "Blocks that wait to be read", ("source",), _rings("used")),
    _Family(
        "lfta_packets",
        "Packets of a low-level query by what became of them: accepted / all is its selectivity",
        (*_LFTA, "outcome"),
        _lfta_packets,
        True,
    ),
    _Family("lfta_fragments", "Where they are put together", _LFTA, _of_lftas("fragments"), True),
    _Family("lfta_datagrams", "Put together of them", _LFTA, _of_lftas("datagrams"), True),
    _Family(
        "lfta_fragments_dropped",
        "Those that were not put together",
        (*_LFTA, "cause"),
        _lost_fragments,
        True,
    ),
    _Family("lfta_segments", "Where TCP is in order", _LFTA, _of_lftas("segments"), True),
    _Family("lfta_segments_held", "Came early", _LFTA, _of_lftas("segments_held"), True),
    _Family(
        "lfta_segments_repeated", "Nothing was new", _LFTA, _of_lftas("segments_repeated"), True
    ),
    _Family("lfta_gaps", "Given up between segments", (*_LFTA, "cause"), _gaps, True),
    _Family("lfta_evictions", "Groups that left by collision", _LFTA, _of_lftas("evicted"), True),
    _Family("lfta_rows", "Rows or partial groups put out", _LFTA, _of_lftas("rows_out"), True),
    _Family("lfta_slots", "Slots of its table", _LFTA, _of_lftas("slots")),
    _Family("lfta_groups", "Groups in its table", _LFTA, _of_lftas("groups")),
    _Family("lfta_held_bytes", "Of its table", _LFTA, _of_lftas("held_bytes")),
    _Family("operator_rows_in", "Rows in", _OPERATOR, _of_operators("rows_in"), True),
    _Family("operator_rows_out", "Rows out", _OPERATOR, _of_operators("rows_out"), True),
    _Family("operator_held", "Groups or rows it holds", _OPERATOR, _of_operators("held")),
    _Family("operator_held_bytes", "What these take", _OPERATOR, _of_operators("held_bytes")),
    _Family(
        "operator_groups_refused",
        "Rows of groups that were not let in",
        _OPERATOR,
        _of_operators("groups_refused"),
        True,
    ),
    _Family(
        "operator_rows_refused",
        "Rows for which there was no room",
        _OPERATOR,
        _of_operators("rows_refused"),
        True,
    ),
    _Family(
        "operator_passed_over",
        "Silent windows of groups that go on, beyond max_silence",
        _OPERATOR,
        _of_operators("passed_over"),
        True,
    ),
    _Family("query_rows", "Rows of a query", ("set", "query"), _rows, True),
    _Family("query_lag_seconds", "Its punctuation behind the clock", ("set", "query"), _lags),
    _Family("set_cut_rows", "Left out", ("set",), _of_sets(lambda s: s.cut_rows), True),
    _Family("set_shed", "Whether it rests", ("set",), _of_sets(lambda s: s.shed)),
    _Family(
        "set_failed", "Whether it has failed", ("set",), _of_sets(lambda s: s.failure is not None)
    ),
    _Family("output_rows", "Rows written", _OUTPUT, _of_outputs("rows"), True),
    _Family("output_lost_rows", "Rows that could not be", _OUTPUT, _of_outputs("lost"), True),
    _Family("output_bytes", "Of its files or spool", _OUTPUT, _of_outputs("bytes")),
    _Family("output_files", "Files that it has", _OUTPUT, _of_outputs("files")),
    _Family("spool_oldest_seconds", "Age of its oldest segment", _OUTPUT, _spool_ages),
    _Family(
        "sampling_shift", "1 in 2^n flows is seen", (), _of_capture(lambda r: r.sampling_shift)
    ),
    _Family("cpu_seconds", "Of the capture", (), _of_capture(lambda r: r.cpu_ns * _NS), True),
    _Family("rss_anon_bytes", "Of the capture", (), _of_capture(lambda r: r.rss_anon_bytes)),
    _Family("open_descriptors", "Of the capture", (), _of_capture(lambda r: r.descriptors)),
    _Family(
        "memory_held_bytes",
        "Of the budget",
        (),
        _of_capture(lambda r: 0 if r.memory is None else r.memory.held_bytes),
    ),
    _Family(
        "memory_limit_bytes",
        "The budget",
        (),
        _of_capture(lambda r: 0 if r.memory is None else r.memory.limit_bytes),
    ),
    _Family("report_time_seconds", "When reported", (), _of_capture(lambda r: r.at_ns * _NS)),
)


class StatusCollector(Collector):
    """Gives the metrics of a status whenever they are asked for."""

    def __init__(self, status: Callable[[], StatusAnswer]) -> None:
        """`status` is called in the server's thread."""
        self._status = status

    def collect(self) -> Iterator[Metric]:
        """The families, in the order of the table."""
        status = self._status()
        yield InfoMetricFamily("gigastream", "What runs", {"version": status.version})
        yield GaugeMetricFamily(
            "gigastream_up", "Whether packets are read", float(status.capture_pid is not None)
        )
        yield CounterMetricFamily("gigastream_restarts", "Of the capture process", status.restarts)
        lost = CounterMetricFamily(
            "gigastream_crash_lost_packets", "That crashes took", labels=("interface",)
        )
        for interface, count in status.lost_packets.items():
            lost.add_metric((interface,), count)
        yield lost
        yield from table_metrics(status.tables)
        if status.report is not None:
            sources = status.sources or status.report.sources
            report = msgspec.structs.replace(status.report, sources=sources)
            for family in _FAMILIES:
                yield family.metric(report)


def registry(status: Callable[[], StatusAnswer]) -> CollectorRegistry:
    """A registry with nothing else in it."""
    found = CollectorRegistry()
    found.register(StatusCollector(status))
    return found


def serve_metrics(
    status: Callable[[], StatusAnswer], address: str, port: int
) -> Callable[[], None]:
    """Answer at http://address:port/metrics in threads of its own; gives what ends it. OSError."""
    server = bounded_server(address, port, make_wsgi_app(registry(status)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()

    def end() -> None:
        server.shutdown()
        server.server_close()
        thread.join()

    return end
