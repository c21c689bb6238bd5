# SPDX-License-Identifier: Apache-2.0
r"""A job: the high level of a query set over spools, on and on, into sinks.

As a program it takes the options of `gigastream spark`:

    spark-submit --master spark://host:7077 spark_sink/job.py --spool /var/spool/gigastream \
        --checkpoint /data/checkpoint -o parquet:/data/talkers
"""

from __future__ import annotations

import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

if __name__ == "__main__":
    # spark-submit puts this file's folder first, whose modules are not for everybody
    sys.path[0] = str(Path(__file__).resolve().parent.parent)

from gigastream.arrow_schema import arrow_schema
from gigastream.outputs import OutputQuery, RowOutput, parse_output
from gigastream.sinks import SinkPlace, SinkTable
from spark_sink import checkpoint
from spark_sink.account import TrackAccount, query_accounts
from spark_sink.apart import check_places
from spark_sink.dataframes import dataframe
from spark_sink.driver_query import leaving_after, may_choose, start_on_driver
from spark_sink.errors import heard_by
from spark_sink.file_sink import SparkFileSink, check_is_free
from spark_sink.job_errors import JobError
from spark_sink.options import access_of
from spark_sink.places import spool_name, without_credentials
from spark_sink.progress import QueryProgress, with_places
from spark_sink.run import Streams, plan_of_paths
from spark_sink.savepoint import after_of
from spark_sink.sentences import Sentences
from spark_sink.session import MEMORY, open_session
from spark_sink.sinks import (
    FILES,
    DriverSink,
    MakeBatch,
    PrintingSink,
    Sink,
    TableSink,
    check_format,
    spark_writer,
    start,
)
from spark_sink.starting import StartEndedError, WatchStart, watched
from spark_sink.state_choice import is_without_state, output_name, outputs_begun
from spark_sink.streaming import Running, Stateful, spark_errors, stop, streams_of, watch
from spark_sink.window_complete.query import SpoolQuery, WindowCompleteQuery

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from gigastream.plan.operators.output import Output as OutputNode
    from gigastream.plan.plan import Plan
    from gigastream.query_texts import QueryTexts


@dataclass(frozen=True)
class JobOptions:
    """What a job is told."""

    spools: Sequence[str]
    checkpoint: str
    sinks: Sequence[Sink]
    texts: QueryTexts | None = None
    """None: the queries that the spools were written for."""
    definitions: Sequence[str] = ()
    """Definition files of those."""
    sink_options: Mapping[str, str] = field(default_factory=dict)
    source_options: Mapping[str, str] = field(default_factory=dict)
    trigger: Mapping[str, Any] = field(default_factory=lambda: {"processingTime": "0 seconds"})
    master: str | None = None
    state: str | None = None
    """Where open windows wait (session.py); None: as it was begun (state_choice.py)."""
    point: str | None = None
    """Where a new checkpoint takes up: a time, or another checkpoint."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """Spark's own."""
    log: Path | None = None
    """What Spark prints; None: it is thrown away."""


@dataclass(frozen=True)
class Printing:
    """What prints rows on the driver."""

    make_batch: MakeBatch
    queries: Callable[[Plan], tuple[OutputQuery, ...]]


@dataclass
class Job:
    """A job whose queries are known to be right and whose checkpoint is its own."""

    options: JobOptions
    plan: Plan
    printing: Printing | None
    reader: str
    parts: Mapping[tuple[str, str], str]
    """By query and output, the folder of the checkpoint that has its progress."""
    names: Mapping[str, str]
    """What the checkpoint calls its outputs."""
    after_ms: Mapping[str, int]
    """By query, up to which base time windows are left out; none: no window is."""
    places: Mapping[str, str] = field(default_factory=dict)
    """By the name that a spool has in checkpoints, its path."""
    running: list[Running] = field(default_factory=list)
    progress: list[QueryProgress] = field(default_factory=list)
    """Of each streaming query, once all have ended."""
    account: list[TrackAccount] = field(default_factory=list)
    """Of each track of each query, over all runs of the checkpoint."""
    losses: int = 0
    """Sentences about what could not be read."""
    _reads: list[Streams] = field(default_factory=list)
    _outputs: ExitStack = field(default_factory=ExitStack)

    @property
    def late(self) -> int:
        """Rows that were left out, since their window had been answered."""
        return sum(each.late for each in self.progress)

    def start(self, session: SparkSession) -> None:
        """Start a streaming query for every output of the plan and sink.

        Each is a reader of its own, which retention waits for.
        """
        for sink in self.options.sinks:
            check_format(session, sink)
        read = Streams(session, self.options.spools, self.options.source_options)
        for sink in self.options.sinks:
            on_driver = {} if sink.is_sparks else self._on_driver(sink)
            for node in self.plan.outputs:
                self._start(read, node, sink, on_driver.get(node.name))

    def _start(
        self, read: Streams, node: OutputNode, sink: Sink, on_driver: DriverSink | None
    ) -> None:
        part = self.parts[node.name, self.names[sink.text]]
        own = {
            "reader": f"{self.reader}-{part}",
            "damageLog": checkpoint.damage_log(self.options.checkpoint),
        }
        read = replace(read, options={**own, **read.options})
        self._reads.append(read)
        place = checkpoint.part(self.options.checkpoint, part)
        name = f"{node.name} to {sink.text}"
        trigger, after_ms = self.options.trigger, self.after_ms.get(node.name)
        if on_driver is not None:
            asked = SpoolQuery(name, self.plan, node, read, place, after_ms)
            in_spool = not may_choose(asked) or is_without_state(name, self.options.state, place)
            self.running.append(start_on_driver(asked, on_driver, trigger, without_state=in_spool))
            return
        folder = node.name if len(self.plan.outputs) > 1 else None
        if sink.format == FILES:
            path = sink.path if folder is None else f"{sink.path}/{folder}"
            asked = SpoolQuery(name, self.plan, node, read, place, after_ms, writes_all=True)
            if self._start_files(asked, str(path)):
                return
        rows = dataframe(self.plan, node, read, leaving_after(after_ms))
        writer = spark_writer(rows, node.schema, sink, self.options.sink_options, folder)
        query = start(writer, place, name, trigger)
        self.running.append(Stateful(query, streams=streams_of(rows), checkpoint=place))

    def _start_files(self, asked: SpoolQuery, path: str) -> bool:
        """Write them in whole windows, if that is asked for and can be; return whether it is."""
        check_is_free(path, asked.checkpoint)
        state, place = self.options.state, asked.checkpoint
        may_be = may_choose(asked)
        in_spool = may_be and is_without_state(asked.name, state, place, by_default=False)
        if in_spool:
            options = self.options.sink_options
            files = SparkFileSink(asked.read.session, path, asked.output.schema, options)
            self.running.append(WindowCompleteQuery(asked, files, self.options.trigger).start())
        return in_spool

    def _check_is_newer(self, node: OutputNode, sink: Sink, table: SinkTable, label: str) -> None:
        """Refuse an old copy of the checkpoint, whose numbers the table knows. Raises JobError."""
        place = checkpoint.part(
            self.options.checkpoint, self.parts[node.name, self.names[sink.text]]
        )
        checkpoint.check_is_newer(place, label, table.last(self.reader))

    def _on_driver(self, sink: Sink) -> Mapping[str, DriverSink]:
        return self._printers(sink) if sink.tables is None else self._tables(sink, sink.tables)

    def _tables(self, sink: Sink, tables: SinkPlace) -> Mapping[str, DriverSink]:
        names = tables.names([node.name for node in self.plan.outputs])
        lock = threading.Lock()
        found = {}
        for node in self.plan.outputs:
            table = tables.open(names[node.name], arrow_schema(node.schema))
            self._outputs.enter_context(_closing(table))
            self._check_is_newer(node, sink, table, f"table {names[node.name]} of {tables.text}")
            found[node.name] = TableSink(table, self.reader, lock, node.name, node.schema)
        return found

    def _printers(self, sink: Sink) -> Mapping[str, DriverSink]:
        assert self.printing is not None
        output = self._outputs.enter_context(
            _closing(RowOutput(*parse_output(sink.text), self.printing.queries(self.plan)))
        )
        output.begin()
        lock = threading.Lock()
        return {
            node.name: PrintingSink(output, lock, node.name, node.schema, self.printing.make_batch)
            for node in self.plan.outputs
        }

    def look(self) -> list[QueryProgress]:
        """How far its queries have come by now."""
        return [with_places(each.progress(), self.places) for each in self.running]

    def accounts(self) -> Iterator[TrackAccount]:
        """What became of the rows of the spools, once the queries have ended."""
        for running, read in zip(self.running, self._reads, strict=True):
            asked = read.source_options
            yield from query_accounts(running.name, self.plan, asked, running.reached())

    def close(self) -> None:
        """Stop the streaming queries, then end the files that the driver wrote."""
        stop(self.running)
        self._outputs.close()


def run_job(
    options: JobOptions,
    is_over: Callable[[], bool],
    printing: Printing | None = None,
    hand_on: Callable[[str], None] = print,
    attend: Callable[[Job], None] = lambda _: None,
) -> Job:
    """Run a job until it is over, or its queries end by themselves (trigger `now`).

    `hand_on` gets what there is to say meanwhile: segments that are damaged, and, in a thread of
    its own, that a cluster is waited for. `attend` is called some times a second, with the job.
    Raises GsqlError, SpooledPlanError, JobError before it starts, and JobError when it fails.
    """
    job = prepare(options, printing)
    with _log(options) as log:
        sentences = Sentences(log, hand_on)

        def look() -> bool:
            sentences.look()
            attend(job)
            return is_over()

        try:
            start = partial(watched, is_over=is_over, tell=hand_on, master=options.master)
            with suppress(StartEndedError):
                _run(job, look, log, sentences, start)
        finally:
            sentences.look()
    job.losses = sentences.losses
    return job


def _run(
    job: Job, is_over: Callable[[], bool], log: Path, sentences: Sentences, start: WatchStart
) -> None:
    asked = job.options
    state, settings = asked.state or MEMORY, asked.settings
    with (
        open_session(asked.master, state=state, settings=settings, log=log, watch=start) as session,
        _closing(job),
        spark_errors(),
    ):
        with heard_by(sentences.hear):
            job.start(session)
            watch(job.running, is_over)
            stop(job.running)
        job.progress = job.look()
        job.account = list(job.accounts())


@contextmanager
def _log(options: JobOptions) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="gigastream-job-") as folder:
        yield options.log or Path(folder) / "log"


def prepare(options: JobOptions, printing: Printing | None = None) -> Job:
    """Make the plan and claim the checkpoint; errors as for `run_job`."""
    on_driver = not any(sink.is_sparks for sink in options.sinks)
    access = access_of(options.source_options)
    plan = plan_of_paths(
        options.spools, options.texts, options.definitions, access, on_driver=on_driver
    )
    for sink in options.sinks:
        if sink.is_printed and printing is None:
            raise JobError(
                f"{sink.text} is printed by the engine, which is not installed here",
                "-o parquet:PATH, or -o spark:FORMAT for any sink of Spark's",
                exit_code=2,
            )
    queries = [node.name for node in plan.outputs]
    check_places(options.spools, options.checkpoint, options.sinks, queries, options.log)
    begun = outputs_begun(options.checkpoint)
    called = {sink.text: output_name(sink, options.state, begun) for sink in options.sinks}
    outputs = [called[sink.text] for sink in options.sinks]
    names = [spool_name(path, access) for path in options.spools]
    formats = dict(zip(outputs, (sink.format for sink in options.sinks), strict=True))
    _refuse_twice([sink.text for sink in options.sinks])
    identity = checkpoint.JobIdentity(
        plan,
        names,
        outputs,
        options.spools,
        formats,
        options.point,
        lambda point: after_of(point, plan, options.spools, options.source_options),
        options.source_options.get("startingAt"),
    )
    claim = checkpoint.claim(options.checkpoint, identity)
    known = {output for _, output in claim.known}
    _refuse_files([s for s in options.sinks if called[s.text] in known])
    places = dict(zip(names, map(without_credentials, options.spools), strict=True))
    return Job(options, plan, printing, claim.reader, claim.parts, called, claim.after_ms, places)


def _refuse_twice(outputs: Sequence[str]) -> None:
    for output in outputs:
        if outputs.count(output) > 1:
            raise JobError(f"the output {output} is given twice", "give it once", exit_code=2)


def _refuse_files(sinks: Sequence[Sink]) -> None:
    """A file that the driver wrote would be written anew, without what it had."""
    for sink in sinks:
        if sink.is_printed and sink.path is not None:
            raise JobError(
                f"{sink.text} cannot go on where the last run of this checkpoint ended",
                "-o parquet:PATH, tables and Spark's other sinks can",
                exit_code=2,
            )


@contextmanager
def _closing(closable: Any) -> Iterator[Any]:
    try:
        yield closable
    finally:
        closable.close()


if __name__ == "__main__":
    from gigastream.cli.main import run_command_line

    sys.exit(run_command_line(["spark", *sys.argv[1:]]))
