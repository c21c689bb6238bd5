# SPDX-License-Identifier: Apache-2.0
"""The queries of a job: started together, watched together, stopped together."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from spark_sink.job_errors import JobError

if TYPE_CHECKING:
    from pyspark.sql.streaming import StreamingQuery

    from spark_sink.sinks import DriverSink

WATCH_SECONDS = 0.1
_COUNT_SECONDS = 10.0
"""A hundred micro-batches take longer."""
_DROPPED = "numRowsDroppedByWatermark"


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

    def count_late(self) -> int:
        """Return how many partial rows came behind the answer of their window, as far as known."""

    def check(self) -> None:
        """Raise what ended the query, if it failed."""

    def finish(self) -> None:
        """Wait for everything that is in the spools now, and what it completes."""

    def stop(self) -> None:
        """End it; what was not committed is done again by the next job of the checkpoint."""


@dataclass(frozen=True, slots=True)
class Stateful:
    """A streaming query of Spark's."""

    query: StreamingQuery
    sink: DriverSink | None = None
    late: dict[int, int] = field(default_factory=dict)
    """By micro-batch, the partial rows that came behind the answer of their window."""

    @property
    def name(self) -> str:
        return str(self.query.name)

    @property
    def is_active(self) -> bool:
        return bool(self.query.isActive)

    @property
    def micro_batches(self) -> int:
        progress = self.query.lastProgress
        return 0 if progress is None else int(progress.batchId) + 1

    def count_late(self) -> int:
        """Take in what Spark says of the last hundred micro-batches, which is all that it keeps."""
        for progress in self.query._jsq.recentProgress():
            said = json.loads(progress.json())
            dropped = [state.get(_DROPPED, 0) for state in said.get("stateOperators", ())]
            self.late[said["batchId"]] = max(self.late.get(said["batchId"], 0), sum(dropped))
        return sum(self.late.values())

    def check(self) -> None:
        if self.sink is not None and self.sink.error is not None:
            raise self.sink.error
        if not self.query.isActive:
            error = self.query.exception()
            if error is not None:
                raise JobError(f"the job failed: {reason(error)}")

    def finish(self) -> None:
        try:
            self.query.processAllAvailable()
        except PySparkException:
            self.check()
            raise

    def stop(self) -> None:
        self.query.stop()


def watch(running: Sequence[Running], is_over: Callable[[], bool]) -> None:
    """Wait until something else is over, or all queries ended by themselves; raise if one fails."""
    counted_s = time.monotonic()
    while not is_over():
        for each in running:
            each.check()
        if time.monotonic() - counted_s > _COUNT_SECONDS:
            counted_s = time.monotonic()
            for each in running:
                each.count_late()
        if not any(each.is_active for each in running):
            return
        time.sleep(WATCH_SECONDS)


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
        raise JobError(f"the job failed: {reason(error)}") from None


def reason(error: BaseException) -> str:
    """Return what a person can use of an exception of Spark's.

    That is our own sentence where one of ours went through Python and Java, else Java's.
    """
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    ours = [line for line in lines if _OURS.match(line)]
    if ours:
        return _OURS.sub("", ours[-1])
    javas = [line for line in lines if line.startswith(_JAVAS)]
    first = javas[0].removeprefix(": ") if javas else lines[0] if lines else type(error).__name__
    return _SQL_STATE.sub("", first)


_OURS = re.compile(r"spark_sink\.errors\.\w+: ")
"""Python names the class in the last line of a traceback, which Spark hands on."""
_JAVAS = ": "
"""What py4j puts before the text of a Java exception."""
_SQL_STATE = re.compile(r"\s*SQLSTATE: \w+$")
