# SPDX-License-Identifier: Apache-2.0
"""An output that is answered in window-complete micro-batches, in a thread of its own."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol
from uuid import uuid4

from gigastream.plan.operators.low_node import LowNode
from gigastream.plan.operators.output import Output
from gigastream.plan.plan import Plan
from gigastream.spool import NOTHING
from gigastream.spool.plan import described
from spark_sink.account import Reached
from spark_sink.dataframes import dataframe
from spark_sink.job_errors import JobError
from spark_sink.offsets import END_MS
from spark_sink.options import slices_text
from spark_sink.progress import QueryProgress, TrackLag
from spark_sink.run import Streams
from spark_sink.segments import Slice, cut
from spark_sink.spark_types import spark_schema
from spark_sink.streaming import failure
from spark_sink.window_complete.due import Due
from spark_sink.window_complete.leaving import Leaving
from spark_sink.window_complete.micro_batch_log import MicroBatch, MicroBatchLog
from spark_sink.window_complete.planner import MicroBatchPlanner
from spark_sink.window_complete.small_batches import (
    SMALL_BYTES,
    brief_session,
    read_here,
    room_here,
    weight_of,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_NS_PER_MS = 1_000_000
LOOK_PERIOD_S = 0.02
"""Between two looks at the manifests, where nothing closed."""
_LAGS_PERIOD_S = 1.0


class BatchSink(Protocol):
    """Where rows go."""

    error: BaseException | None
    """What went wrong while they were written."""

    @property
    def written(self) -> int | None:
        """How many rows it has got; None: it does not say."""

    def write(self, rows: DataFrame, number: int, /) -> None:
        """Take the rows of a micro-batch, in types from inside; the same number: the same rows."""


@dataclass(frozen=True)
class SpoolQuery:
    """An output, where its rows are, and where its progress is kept."""

    name: str
    """For people."""
    plan: Plan
    output: Output
    read: Streams
    checkpoint: str
    after_ms: int | None = None
    """Windows that end up to here are left out; None: none is."""
    small_bytes: int = SMALL_BYTES
    """Up to which the segments of a micro-batch are read by the driver."""
    writes_all: bool = False
    """The sink gets micro-batches without rows, too."""


class WindowCompleteQuery:
    """A running query, as the job sees it (spark_sink.streaming.Running)."""

    def __init__(self, asked: SpoolQuery, sink: BatchSink, trigger: Mapping[str, Any]) -> None:
        """`trigger`: Spark's, `processingTime` or `availableNow`. Raises JobError."""
        self.name = asked.name
        self.sink = sink
        self._asked = asked
        self._due = Due(asked.plan, asked.output)
        self._log = MicroBatchLog(asked.checkpoint)
        self._planner = MicroBatchPlanner(
            self._due,
            {stream.name: asked.read.source_options(stream) for stream in self._due.streams},
            asked.after_ms,
            self._log.done,
        )
        self._late_before = 0 if self._log.last is None else self._log.last.late
        self._rows_in = 0
        self._lags: tuple[TrackLag, ...] = ()
        self._lags_due_s = 0.0
        self._period_s = _period_s(trigger)
        self._tag = f"gigastream-{uuid4()}"
        self._is_last_look = threading.Event()
        self._is_stopped = threading.Event()
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name=self.name, daemon=True)
        if "availableNow" in trigger:
            self._is_last_look.set()

    def start(self) -> WindowCompleteQuery:
        """Begin, or go on where the checkpoint is."""
        self._thread.start()
        return self

    @property
    def is_active(self) -> bool:
        """Whether there may be more."""
        return self._thread.is_alive()

    @property
    def micro_batches(self) -> int:
        """How many there were, over all runs of the checkpoint."""
        return 0 if self._log.last is None else self._log.last.number + 1

    def progress(self) -> QueryProgress:
        """What this run has met; no row is held."""
        last = self._log.last
        if last is None:
            return QueryProgress(self.name)
        promised_ns = NOTHING if last.until_ms >= END_MS else last.until_ms * _NS_PER_MS
        return QueryProgress(
            self.name,
            self.micro_batches,
            self._rows_in,
            self.sink.written,
            late=last.late - self._late_before,
            promised_ns=promised_ns,
            tracks=self._lags,
        )

    def reached(self) -> Mapping[str, Reached]:
        """One that was begun and not done is run again: what it needs is not read yet."""
        last = self._log.last
        if last is None:
            return {}
        if self._log.is_done:
            return self._planner.reached(last)
        return {name: Reached(held, last.unread.get(name, {})) for name, held in last.held.items()}

    def check(self) -> None:
        """Raise what ended the query, if it failed."""
        if self.sink.error is not None:
            raise self.sink.error
        if self._error is not None and not self._is_stopped.is_set():
            if isinstance(self._error, JobError):
                raise self._error
            raise failure(self._error)

    def finish(self) -> None:
        """Wait for everything that is in the spools now, and what it completes."""
        self._is_last_look.set()
        self._thread.join()

    def stop(self) -> None:
        """End it; a micro-batch that is not done is run again by the next job."""
        self._is_stopped.set()
        while self._thread.is_alive():
            self._asked.read.session.sparkContext.cancelJobsWithTag(self._tag)
            self._thread.join(LOOK_PERIOD_S)

    def _run(self) -> None:
        try:
            self._asked.read.session.sparkContext.addJobTag(self._tag)
            while not self._is_stopped.is_set():
                is_last_look, begun_s = self._is_last_look.is_set(), time.time()
                if is_last_look:
                    self._planner.freeze()
                has_run = self._step()
                self._look_at_lags(is_news=has_run)
                if not has_run and is_last_look:
                    return
                if not is_last_look:
                    self._is_stopped.wait(seconds_to_tick(begun_s, time.time(), self._period_s))
        except BaseException as error:
            self._error = error

    def _look_at_lags(self, *, is_news: bool) -> None:
        """In this thread, whose the planner is."""
        if self._log.last is not None and (is_news or time.monotonic() >= self._lags_due_s):
            self._lags_due_s = time.monotonic() + _LAGS_PERIOD_S
            self._lags = self._planner.lags(self._log.last)

    def _step(self) -> bool:
        """Run the micro-batch that is due, if one is."""
        batch = self._log.last
        if batch is None or self._log.is_done:
            batch = self._planner.next(batch)
            if batch is None:
                return False
            self._log.plan(batch)
        slices = self._planner.slices(batch)
        self._rows_in += sum(piece.rows for pieces in slices.values() for piece in pieces)
        # what ended without a row has one of nothing, where all rows are one group
        if self._asked.writes_all or any(slices.values()) or batch.until_ms >= END_MS:
            self._write(batch, slices)
        self._log.finish(self._planner.let_go(batch))
        self._planner.commit(batch)
        return True

    def _write(self, batch: MicroBatch, slices: Mapping[str, list[Slice]]) -> None:
        weight = weight_of(piece for of_stream in slices.values() for piece in of_stream)
        with room_here(weight, self._asked.small_bytes) as by_driver:
            self.sink.write(self._rows(batch, slices, by_driver=by_driver), batch.number)

    def _rows(
        self, batch: MicroBatch, slices: Mapping[str, list[Slice]], *, by_driver: bool
    ) -> DataFrame:
        def read(node: LowNode, columns: tuple[str, ...]) -> DataFrame:
            return self._segments(node, columns, slices[node.name], by_driver=by_driver)

        leaving = Leaving(batch.after_ms, batch.until_ms)
        return dataframe(self._asked.plan, self._asked.output, read, leaving)

    def _segments(
        self, node: LowNode, columns: tuple[str, ...], slices: list[Slice], *, by_driver: bool
    ) -> DataFrame:
        options = self._asked.read.source_options(node)
        by_name = {column.name: described(column) for column in node.schema.columns}
        schema = spark_schema([by_name[name] for name in columns], options.inside)
        if by_driver:
            return read_here(self._brief_session, schema, slices, options, self._pause)
        session = self._asked.read.session
        parts = cut(slices, session.sparkContext.defaultParallelism)
        given = self._asked.read.asked(node, columns) | {"segments": slices_text(parts)}
        return session.read.format("gigastream").schema(schema).options(**given).load()

    @cached_property
    def _brief_session(self) -> SparkSession:
        return brief_session(self._asked.read.session)

    def _pause(self, seconds: float) -> None:
        if self._is_stopped.wait(seconds):
            raise JobError("the job was stopped")


def _period_s(trigger: Mapping[str, Any]) -> float:
    """Of `N milliseconds`."""
    text = trigger.get("processingTime", "0")
    return int(text.split()[0]) / 1000


def seconds_to_tick(begun_s: float, now_s: float, period_s: float) -> float:
    """How long until the multiple of a period that follows `begun_s`, as Spark's triggers are.

    What a micro-batch takes is no part of it: behind one that took longer the next begins at once.
    Of a clock that was set back meanwhile it is no longer than the period.
    """
    due_s = begun_s + period_s - begun_s % period_s if period_s > 0 else 0.0
    return max(LOOK_PERIOD_S, min(due_s - now_s, period_s))
