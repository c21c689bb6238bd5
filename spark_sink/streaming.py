# SPDX-License-Identifier: Apache-2.0
"""The queries of a job: started together, watched together, stopped together."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import TYPE_CHECKING, Protocol

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from spark_sink.account import Reached
from spark_sink.java_words import innermost_cause
from spark_sink.job_errors import JobError
from spark_sink.offsets import Offsets
from spark_sink.progress import QueryProgress
from spark_sink.query_counts import QueryCounts
from spark_sink.spark_checkpoint import last_done

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming import StreamingQuery

    from spark_sink.sinks import DriverSink

WATCH_SECONDS = 0.1
_STREAM = "StreamingRelationV2"
_COUNT_SECONDS = 5.0
"""A hundred micro-batches take longer."""


class Running(Protocol):
    """A query that runs."""

    @property
    def name(self) -> str: ...

    @property
    def is_active(self) -> bool:
        """Whether there may be more rows."""

    @property
    def micro_batches(self) -> int:
        """How many there were, over all runs of the checkpoint."""

    def progress(self) -> QueryProgress:
        """Return its counters by now."""

    def reached(self) -> Mapping[str, Reached]:
        """Return by stream how far it is done, over all runs of the checkpoint."""

    def check(self) -> None:
        """Raise what ended the query, if it failed."""

    def finish(self) -> None:
        """Wait for everything that is in the spools now, and what it completes."""

    def stop(self) -> None:
        """End it; what was not committed is done again by the next job of the checkpoint."""


class Stateful:
    """A streaming query of Spark's."""

    def __init__(
        self,
        query: StreamingQuery,
        sink: DriverSink | None = None,
        *,
        streams: Sequence[str] = (),
        checkpoint: str = "",
    ) -> None:
        """`streams` are those that it reads, in the order of its sources."""
        self.query = query
        self.sink = sink
        self.name = str(query.name)
        self._streams = streams
        self._checkpoint = checkpoint
        self._counts = QueryCounts(self.name, streams)

    @property
    def is_active(self) -> bool:
        return bool(self.query.isActive)

    @property
    def micro_batches(self) -> int:
        return self.progress().micro_batches

    def progress(self) -> QueryProgress:
        self._catch_up()
        return self._counts.progress(None if self.sink is None else self.sink.written)

    def reached(self) -> Mapping[str, Reached]:
        done = last_done(self._checkpoint)
        offsets: tuple[Offsets, ...] = () if done is None else done.offsets
        return {name: Reached(each) for name, each in zip(self._streams, offsets, strict=False)}

    def _catch_up(self) -> None:
        """Take in what Spark says of its micro-batches, of which it keeps the last hundred."""
        last = self.query._jsq.lastProgress()
        if last is None or last.batchId() <= self._counts.last_batch:
            return
        is_next = last.batchId() == self._counts.last_batch + 1
        for each in [last] if is_next else self.query._jsq.recentProgress():
            self._counts.take(json.loads(each.json()))

    def check(self) -> None:
        if self.sink is not None and self.sink.error is not None:
            raise self.sink.error
        if not self.query.isActive:
            error = self.query.exception()
            if error is not None:
                raise failure(error)

    def finish(self) -> None:
        try:
            self.query.processAllAvailable()
        except PySparkException:
            self.check()
            raise

    def stop(self) -> None:
        self.query.stop()


def streams_of(rows: DataFrame) -> list[str]:
    """Return the streams that a streaming DataFrame reads, in the order of Spark's sources."""
    leaves = rows._jdf.queryExecution().analyzed().collectLeaves().iterator()
    found: dict[str, None] = {}
    while leaves.hasNext():
        leaf = leaves.next()
        if leaf.nodeName() == _STREAM:
            found[leaf.extraOptions().get("stream")] = None
    return list(found)


def watch(
    running: Sequence[Running],
    is_over: Callable[[], bool],
    wait: Callable[[float], object] = time.sleep,
) -> None:
    """Wait until something else is over, or all queries ended by themselves; raise if one fails.

    `wait` lets seconds pass, or fewer where it knows of the end.
    """
    counted_s = time.monotonic()
    while not is_over():
        for each in running:
            each.check()
        if time.monotonic() - counted_s > _COUNT_SECONDS:
            counted_s = time.monotonic()
            for each in running:
                each.progress()
        if not any(each.is_active for each in running):
            return
        wait(WATCH_SECONDS)


def finish(running: Sequence[Running]) -> None:
    """Wait for everything that is in the spools now, and what it completes; raise if one fails."""
    for each in running:
        each.finish()
    for each in running:
        each.check()


def stop(running: Sequence[Running]) -> None:
    """End all queries; what was not committed is done again by the next job of the checkpoint."""
    for each in running:
        each.stop()


@contextmanager
def spark_errors() -> Iterator[None]:
    """Turn what Spark raises into a JobError."""
    try:
        yield
    except (PySparkException, Py4JError) as error:
        raise failure(error) from None


def failure(error: BaseException) -> JobError:
    """Return what a person can use of an exception that ended a query.

    That is our own sentence, with its hint, where one of ours went through Python and Java, else
    Java's, with the innermost cause where it says more.
    """
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    sentence, hint = _sentence(error, lines), None
    for line, behind in pairwise(lines):
        if line.endswith(sentence) and behind.startswith(_HINT):
            hint = behind.removeprefix(_HINT)
    return JobError(f"the job failed: {sentence}", hint)


def _sentence(error: BaseException, lines: Sequence[str]) -> str:
    ours = [line for line in lines if _OURS.match(line)]
    if ours:
        return _OURS.sub("", ours[-1])
    javas = [line for line in lines if line.startswith(_JAVAS)]
    first = javas[0].removeprefix(": ") if javas else lines[0] if lines else type(error).__name__
    said, cause = (
        _SQL_STATE.sub("", each).rstrip(".") for each in (first, innermost_cause(str(error)))
    )
    says_more = cause not in said and not cause.startswith(_PYTHONS)
    return f"{said}: {cause}" if says_more else said


_OURS = re.compile(r"spark_sink\.errors\.\w+: ")
"""Python names the class in the last line of a traceback, which Spark hands on."""
_HINT = "hint: "
_JAVAS = ": "
"""What py4j puts before the text of a Java exception."""
_PYTHONS = "Traceback"
"""A cause in Python goes on below, with its frames."""
_SQL_STATE = re.compile(r"\s*SQLSTATE: \w+$")
