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
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gigastream.cli.answering import account_of, position_of, summarise, tell_if_asked
from gigastream.cli.ending import Asked, stopped_by_signals
from gigastream.cli.errors import UsageError
from gigastream.cli.operator_tables import with_tables
from gigastream.cli.progress import Progress
from gigastream.cli.run_arguments import WARM_IDLE_S
from gigastream.cli.spark_extra import require_spark
from gigastream.cli.stderr import say
from gigastream.engine.statistics import OperatorStatistics, Statistics
from gigastream.late_dataclass import replace
from gigastream.outputs import Batch
from gigastream.outputs.delivery import Delivered, RowTarget
from gigastream.sources.files import FileSource
from gigastream.words import counted

if TYPE_CHECKING:
    import pyarrow

    from gigastream.plan import Plan
    from gigastream.query_texts import QueryTexts
    from gigastream.records.source import AnySource
    from gigastream.sessions.low_session import LowSession
    from gigastream.settings import Settings
    from spark_sink.progress import QueryProgress
    from spark_sink.run import Streams
    from spark_sink.streaming import Running
    from spark_sink.warm.client import WarmAnswer

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
    if arguments.warm_idle is not None and not arguments.warm:
        raise UsageError("--warm-idle says how long --warm keeps Spark", "--on spark --warm")
    if arguments.on != "spark":
        if arguments.warm:
            raise UsageError("--warm keeps Spark, which is not asked for", "--on spark --warm")
        return
    if arguments.spool is not None:
        raise UsageError(
            "--on spark reads captures", f"gigastream spark --spool {arguments.spool[0]}"
        )
    if spool is not None:
        raise UsageError("a spool is written by the low level, which runs here", "--on here")


def end_warm() -> int:
    """Let what --warm has kept end; return the exit code."""
    require_spark()
    from spark_sink.warm.place import end_all

    say(f"{counted(end_all(), 'warm server')} told to end")
    return 0


def answer_on_spark(
    arguments: argparse.Namespace,
    plan: Plan,
    texts: QueryTexts,
    sources: Sequence[AnySource],
    settings: Settings,
    output: RowTarget,
) -> tuple[Statistics, Delivered]:
    """Answer the queries, write the rows and give the account.

    Raises GsqlError for what Spark cannot run, JobError, and what a session of the engine raises.
    """
    require_spark()
    arguments = _without_warm_for_files(arguments, plan)
    if not arguments.warm:  # whose server says so, which has the modules that this needs
        _check(plan)
    started = time.monotonic()
    with _folder() as folder, _open(plan, texts, sources, settings, folder) as low:
        printer = _Printer(output, low, arguments, started)
        files = [os.path.abspath(each) for each in texts.definitions if isinstance(each, str)]
        run = _Run(plan, low, printer, folder, arguments, files)
        run.answer(_session_settings(sources), arguments.duration)
        statistics, streams = run.statistics(), low.accounts()
        if run.was_stopped:
            output.leave_open()
    output.close()
    delivered = _delivered(output)
    summarise(arguments, statistics, delivered, time.monotonic() - started, streams)
    return statistics, delivered


def _delivered(output: RowTarget) -> Delivered:
    return Delivered(
        output.rows,
        output.lost,
        known=output.known,
        left_open=output.left_open,
        failures=output.failures,
    )


def _without_warm_for_files(arguments: argparse.Namespace, plan: Plan) -> argparse.Namespace:
    """A server that stays believes no spool that names files; those of a run are its user's."""
    from gigastream.spool.plan import reads_files

    if not arguments.warm or not reads_files(plan):
        return arguments
    if not arguments.quiet:
        say("without --warm: the queries read a file above the border (explain)")
    return argparse.Namespace(**{**vars(arguments), "warm": False})


def _check(plan: Plan) -> None:
    from spark_sink.refusals import check

    check(plan, on_driver=True)


def _open(
    plan: Plan,
    texts: QueryTexts,
    sources: Sequence[AnySource],
    settings: Settings,
    folder: Path,
) -> LowSession:
    from gigastream.sessions.low_session import LowSession
    from gigastream.spool import SpoolSettings

    kept = SpoolSettings(segment_age_ns=SEGMENT_AGE_NS, sync=NEVER_DURABLE_NS)
    return LowSession(plan, texts, sources, settings, folder / "spool", kept, is_only_run=True)


class _Printer:
    """The run's output, with the line of progress out of its way."""

    def __init__(
        self, output: RowTarget, low: LowSession, arguments: argparse.Namespace, started_s: float
    ) -> None:
        self._output = output
        self._low = low
        self._arguments = arguments
        self._started_s = started_s
        self._progress = Progress(self._position, wanted=not arguments.quiet)
        self._status = with_tables(self._progress, lambda: self.statistics(), arguments)
        self.statistics = low.statistics
        """All that is known by now; a run on Spark knows more."""
        self.lock = threading.Lock()

    def write(self, query_name: str, batch: Batch) -> None:
        self._progress.clear()
        self._output.write(query_name, batch)

    def tick(self, asked: Asked) -> None:
        with self.lock:
            self._status.tick()
            tell_if_asked(asked, self._status.line, self._account)
        if self._output.failures:
            self._low.stop()

    def clear(self) -> None:
        with self.lock:
            self._progress.clear()

    def tell_of_archive(self, folder: Path) -> None:
        """The next run is the faster for it; this one is over."""
        if not self._arguments.quiet:
            say(
                "from the next run on Spark starts in about half the time: its Java classes are "
                f"being put into {folder} (180 MB; GIGASTREAM_SPARK_ARCHIVE=off: never)"
            )

    def _account(self) -> str:
        seconds = time.monotonic() - self._started_s
        return account_of(self._arguments, self.statistics(), _delivered(self._output), seconds)

    def _position(self) -> tuple[int, int]:
        return position_of(self._low.statistics())


class _Run:
    """The low level in a thread, and the streaming queries of the high level."""

    def __init__(
        self,
        plan: Plan,
        low: LowSession,
        printer: _Printer,
        folder: Path,
        arguments: argparse.Namespace,
        definitions: Sequence[str],
    ) -> None:
        """`folder` holds the spool of `low`."""
        self._plan = plan
        self._low = low
        self._printer = printer
        self._folder = folder
        self._arguments = arguments
        self._definitions = definitions
        self._warm: WarmAnswer | None = None
        self._asked = Asked()
        self._running: list[Running] = []
        self._read: Streams | None = None
        self._progress_at_end: Sequence[QueryProgress] = ()
        printer.statistics = self.statistics
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._write_spool, daemon=True)

    @property
    def was_stopped(self) -> bool:
        """Whether the input was ended before it had."""
        return self._asked.has_stopped

    def answer(self, settings: Mapping[str, str], after_s: float | None = None) -> None:
        """Run to the end of the input with settings of Spark's."""
        from spark_sink.session import open_session

        tell = self._printer.tell_of_archive
        with stopped_by_signals(self._low, after_s) as self._asked:
            self._thread.start()
            try:
                if self._arguments.warm:
                    self._answer_warm(settings)
                else:
                    with open_session(settings=settings, when_making=tell) as session:
                        self._answer(session)
            finally:
                self._low.stop()
                self._thread.join()

    def _answer_warm(self, settings: Mapping[str, str]) -> None:
        """By the session of a process that stays: rows come back over a socket."""
        from gigastream.engine.batch import NativeBatch
        from spark_sink.session import QUICK_START, WARM
        from spark_sink.warm.client import Question, WarmAnswer, WarmRefusedError, connect

        schemas = {node.name: node.schema for node in self._plan.outputs}

        def print_rows(query: str, batch: pyarrow.RecordBatch) -> None:
            with self._printer.lock:
                self._printer.write(query, NativeBatch.from_arrow(batch, schemas[query]))

        idle_s = self._arguments.warm_idle or WARM_IDLE_S
        is_quick = settings == QUICK_START
        question = Question(str(self._folder), self._definitions, is_quick, idle_s)
        try:
            channel = connect(WARM, self._is_written, lambda: _check(self._plan))
            self._warm = warm = WarmAnswer(channel)
            warm.take(question, print_rows, self._is_written)
            self._progress_at_end = warm.progress
        except WarmRefusedError:
            _check(self._plan)
            raise
        finally:
            self._printer.clear()

    def _write_spool(self) -> None:
        try:
            for _ in self._low.turns():
                pass
        except BaseException as error:
            self._error = error

    def statistics(self) -> Statistics:
        """The counters of the low level, and a line for each query on Spark."""
        return replace(self._low.statistics(), operators=tuple(map(_operator, self._progress())))

    def _progress(self) -> Sequence[QueryProgress]:
        if self._warm is not None:
            return self._warm.progress
        return self._progress_at_end or [each.progress() for each in self._running]

    def _answer(self, session: Any) -> None:
        from spark_sink.streaming import finish, spark_errors, stop, watch

        with spark_errors():
            try:
                self._start(session)
                watch(self._running, self._is_written)
                finish(self._running)
            finally:
                stop(self._running)
                self._printer.clear()
            self._progress_at_end = [self._at_end(each) for each in self._running]

    def _at_end(self, running: Running) -> QueryProgress:
        """Rows in are those of the spool that were read, each of them once."""
        from spark_sink.account import query_accounts

        assert self._read is not None
        asked = self._read.source_options
        accounts = query_accounts(running.name, self._plan, asked, running.reached())
        return replace(running.progress(), rows_in=sum(each.read for each in accounts))

    def _is_written(self) -> bool:
        """Whether the spool has its end; its error is ours."""
        self._printer.tick(self._asked)
        if self._error is not None:
            raise self._error
        return not self._thread.is_alive()

    def _start(self, session: Any) -> None:
        from gigastream.engine.batch import NativeBatch
        from spark_sink.driver_query import start_on_driver
        from spark_sink.run import Streams
        from spark_sink.sinks import PrintingSink
        from spark_sink.window_complete.query import SpoolQuery

        self._read = read = Streams(session, [str(self._folder / "spool")])
        for node in self._plan.outputs:
            sink = PrintingSink(
                self._printer, self._printer.lock, node.name, node.schema, NativeBatch.from_arrow
            )
            place = str(self._folder / "checkpoints" / str(len(self._running)))
            asked = SpoolQuery(node.name, self._plan, node, read, place)
            self._running.append(start_on_driver(asked, sink, CONTINUOUS))


def _session_settings(sources: Sequence[AnySource]) -> Mapping[str, str]:
    from spark_sink.session import QUICK_START

    return QUICK_START if sum(map(_size_bytes, sources)) < QUICK_BYTES else {}


def _size_bytes(source: AnySource) -> float:
    """Of a file; a pipe and a link have no end."""
    path = source.path if isinstance(source, FileSource) else ""
    return os.path.getsize(path) if os.path.isfile(path) else float("inf")


@contextmanager
def _folder() -> Iterator[Path]:
    """A folder that is gone afterwards, with the spool and the checkpoints."""
    import tempfile

    from spark_sink.warm.leftovers import PREFIX

    with tempfile.TemporaryDirectory(prefix=PREFIX, ignore_cleanup_errors=True) as name:
        yield Path(name)


def _operator(progress: QueryProgress) -> OperatorStatistics:
    """Late rows come behind their window, as those that stepped back too far do.

    Why others did not come out Spark does not say.
    """
    return OperatorStatistics(
        progress.name,
        "on Spark",
        progress.rows_in,
        progress.rows_out or 0,
        rejected=None,
        no_value=None,
        held=progress.held,
        groups_refused=0,
        beyond_limit=None,
        out_of_order=progress.late,
        held_bytes=progress.held_bytes,
        promised_ns=progress.promised_ns,
    )
