# SPDX-License-Identifier: Apache-2.0
"""gigastream run --on spark: the low level here, into a spool of its own, the high level on Spark.

Both run at once: a thread writes the spool, and a streaming job reads it as it grows. At the end of
the input the spool ends, its last punctuation completes all windows, and the job is stopped.
"""

from __future__ import annotations

import argparse
import os
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gigastream.cli.answering import position_of, summarise
from gigastream.cli.ending import Asked, stopped_by_signals
from gigastream.cli.errors import UsageError
from gigastream.cli.progress import Progress
from gigastream.cli.spark_extra import require_spark
from gigastream.engine.statistics import OperatorStatistics, Statistics
from gigastream.outputs import Batch
from gigastream.outputs.delivery import Delivered, RowTarget
from gigastream.plan.nodes import topological
from gigastream.sources.files import FileSource

if TYPE_CHECKING:
    from gigastream.plan import Plan
    from gigastream.query_texts import QueryTexts
    from gigastream.sessions.low_session import LowSession
    from gigastream.settings import Settings
    from gigastream.sources.live import LiveSource
    from spark_sink.sinks import DriverSink
    from spark_sink.streaming import Running

SEGMENT_AGE_NS = 250_000_000
"""Rows of a pipe wait no longer for a fuller segment."""
NEVER_DURABLE_NS = 24 * 3600 * 10**9
"""The spool goes with the run: nothing of it need survive the machine."""

CONTINUOUS = {"processingTime": "0 milliseconds"}
"""A micro-batch as soon as there is something."""

QUICK_BYTES = 64 << 20
"""Smaller captures are over before Java's second compiler pays: it takes two fifths of the time."""


def refuse_on_spark(arguments: argparse.Namespace, spool: Path | None) -> None:
    """Raise UsageError where --on spark and a spool of the user's own are asked for together."""
    if arguments.on != "spark":
        return
    if arguments.spool is not None:
        raise UsageError("--on spark reads captures", f"gigastream spark --spool {arguments.spool}")
    if spool is not None:
        raise UsageError("a spool is written by the low level, which runs here", "--on here")


def answer_on_spark(
    arguments: argparse.Namespace,
    plan: Plan,
    texts: QueryTexts,
    sources: Sequence[FileSource | LiveSource],
    settings: Settings,
    output: RowTarget,
) -> tuple[Statistics, Delivered]:
    """Answer the queries, write the rows and give the account.

    Raises GsqlError for what Spark cannot run, JobError, and what a session of the engine raises.
    """
    require_spark()
    from spark_sink.refusals import check

    check(plan, on_driver=True)
    started = time.monotonic()
    with _folder() as folder, _open(plan, texts, sources, settings, folder) as low:
        printer = _Printer(output, low, arguments.quiet)
        run = _Run(plan, low, printer, folder)
        rows = run.rows(_session_settings(sources), arguments.duration)
        statistics = _statistics(low, plan, rows)
        if run.was_stopped:
            output.leave_open()
    output.close()
    delivered = Delivered(
        output.rows,
        output.lost,
        known=output.known,
        left_open=output.left_open,
        failures=output.failures,
    )
    summarise(arguments, statistics, delivered, time.monotonic() - started)
    return statistics, delivered


def _open(
    plan: Plan,
    texts: QueryTexts,
    sources: Sequence[FileSource | LiveSource],
    settings: Settings,
    folder: Path,
) -> LowSession:
    from gigastream.sessions.low_session import LowSession
    from gigastream.spool import SpoolSettings

    kept = SpoolSettings(segment_age_ns=SEGMENT_AGE_NS, sync=NEVER_DURABLE_NS)
    return LowSession(plan, texts, sources, settings, folder / "spool", kept, is_only_run=True)


class _Printer:
    """The run's output, with the line of progress out of its way."""

    def __init__(self, output: RowTarget, low: LowSession, quiet: bool) -> None:
        self._output = output
        self._low = low
        self._progress = Progress(self._position, wanted=not quiet)
        self.lock = threading.Lock()

    def write(self, query_name: str, batch: Batch) -> None:
        self._progress.clear()
        self._output.write(query_name, batch)

    def tick(self) -> None:
        with self.lock:
            self._progress.tick()
        if self._output.failures:
            self._low.stop()

    def clear(self) -> None:
        with self.lock:
            self._progress.clear()

    def _position(self) -> tuple[int, int]:
        return position_of(self._low.statistics())


class _Run:
    """The low level in a thread, and the streaming queries of the high level."""

    def __init__(self, plan: Plan, low: LowSession, printer: _Printer, folder: Path) -> None:
        """`folder` holds the spool of `low`."""
        self._plan = plan
        self._low = low
        self._printer = printer
        self._folder = folder
        self._asked = Asked()
        self._sinks: list[DriverSink] = []
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._write_spool, daemon=True)

    @property
    def was_stopped(self) -> bool:
        """Whether the input was ended before it had."""
        return self._asked.has_stopped

    def rows(self, settings: Mapping[str, str], after_s: float | None = None) -> dict[str, int]:
        """Run to the end of the input with settings of Spark's; return the rows of each query."""
        from spark_sink.session import open_session

        with stopped_by_signals(self._low, after_s) as self._asked:
            self._thread.start()
            try:
                with open_session(settings=settings) as session:
                    return self._answer(session)
            finally:
                self._low.stop()
                self._thread.join()

    def _write_spool(self) -> None:
        try:
            for _ in self._low.turns():
                pass
        except BaseException as error:
            self._error = error

    def _answer(self, session: Any) -> dict[str, int]:
        from spark_sink.streaming import finish, spark_errors, stop, watch

        with spark_errors():
            running = self._start(session)
            try:
                watch(running, self._is_written)
                finish(running)
            finally:
                stop(running)
                self._printer.clear()
        return {sink.query: sink.rows for sink in self._sinks}

    def _is_written(self) -> bool:
        """Whether the spool has its end; its error is ours."""
        self._printer.tick()
        if self._error is not None:
            raise self._error
        return not self._thread.is_alive()

    def _start(self, session: Any) -> list[Running]:
        from gigastream.engine.batch import NativeBatch
        from spark_sink.driver_query import start_on_driver
        from spark_sink.run import Streams
        from spark_sink.sinks import PrintingSink
        from spark_sink.window_complete.query import SpoolQuery

        read = Streams(session, [str(self._folder / "spool")])
        running: list[Running] = []
        for node in self._plan.outputs:
            sink = PrintingSink(
                self._printer, self._printer.lock, node.name, node.schema, NativeBatch.from_arrow
            )
            place = str(self._folder / "checkpoints" / str(len(running)))
            self._sinks.append(sink)
            asked = SpoolQuery(node.name, self._plan, node, read, place)
            running.append(start_on_driver(asked, sink, CONTINUOUS, without_state=True))
        return running


def _session_settings(sources: Sequence[FileSource | LiveSource]) -> Mapping[str, str]:
    from spark_sink.session import QUICK_START

    return QUICK_START if sum(map(_size_bytes, sources)) < QUICK_BYTES else {}


def _size_bytes(source: FileSource | LiveSource) -> float:
    """Of a file; a pipe and a link have no end."""
    path = source.path if isinstance(source, FileSource) else ""
    return os.path.getsize(path) if os.path.isfile(path) else float("inf")


@contextmanager
def _folder() -> Iterator[Path]:
    """A folder that is gone afterwards, with the spool and the checkpoints."""
    import tempfile

    with tempfile.TemporaryDirectory(prefix="gigastream-run-", ignore_cleanup_errors=True) as name:
        yield Path(name)


def _statistics(low: LowSession, plan: Plan, rows: dict[str, int]) -> Statistics:
    """The counters of the low level, and a line for each query on Spark."""
    accounts = low.accounts()
    operators = []
    for node in plan.outputs:
        streams = [below.name for below in topological((node,)) if below.is_low]
        rows_in = sum(account.rows for account in accounts if account.stream in streams)
        operators.append(_operator(node.name, rows_in, rows[node.name]))
    return replace(low.statistics(), operators=tuple(operators))


def _operator(name: str, rows_in: int, rows_out: int) -> OperatorStatistics:
    return OperatorStatistics(
        name, "on Spark", rows_in, rows_out, rejected=0, no_value=0, held=0, groups_refused=0
    )
