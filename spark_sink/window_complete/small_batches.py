# SPDX-License-Identifier: Apache-2.0
"""A micro-batch that is small: its segments are read by the driver, and Spark is told to be brief.

For some MiB Spark's own way, a Python process for the plan of the source and one for each task,
takes longer than all the rest, and so does the compiling of code that runs for an instant. What is
larger is read by tasks, side by side.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pyarrow

from spark_sink.options import SourceOptions
from spark_sink.segments import Slice, read
from spark_sink.spark_types import arrow_schema, to_spark

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SMALL_BYTES = 16 << 20
"""Of segments' files, and of what could be read while they are asked for."""
_BYTES_OF_A_FILE = 16 << 10
_BYTES_OF_A_QUESTION = 1 << 20
"""To another host, or a store: some tens of ms, which the driver spends one after the other."""
MOST_HERE = 64 << 20
"""Of all micro-batches that the driver reads at once, as small ones are counted."""
_ROWS_OF_A_TASK = 1 << 18
_BRIEF = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.execution.arrow.localRelationThreshold": "0",
    "spark.sql.execution.arrow.maxRecordsPerBatch": str(_ROWS_OF_A_TASK),
}
"""An Arrow batch goes to its task whole: rows that are in the plan would be unpacked twice."""
_one_at_a_time = threading.Lock()


def weight_of(slices: Iterable[Slice]) -> int:
    """What it takes to read segments one after the other, in bytes."""
    return sum(
        entry.size_bytes + (_BYTES_OF_A_QUESTION if "://" in piece.path else _BYTES_OF_A_FILE)
        for piece in slices
        for entry in piece.entries
    )


class _Room:
    """What the driver holds of micro-batches, of all the outputs of a job."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._taken = 0

    def take(self, weight: int) -> bool:
        """Return whether there is room; one alone has it in any case."""
        with self._lock:
            fits = self._taken == 0 or self._taken + weight <= MOST_HERE
            self._taken += weight if fits else 0
            return fits

    def give_back(self, weight: int) -> None:
        with self._lock:
            self._taken -= weight


_room = _Room()


@contextmanager
def room_here(weight: int, most: float) -> Iterator[bool]:
    """Whether a micro-batch of such a weight is read by the driver, until it is with its sink.

    Nobody waits: for what is too large, alone or with the others at work, there are the tasks.
    """
    if weight > most or not _room.take(weight):
        yield False
        return
    try:
        yield True
    finally:
        _room.give_back(weight)


def brief_session(session: SparkSession) -> SparkSession:
    """A session like another, for small micro-batches; they share all but their settings."""
    from pyspark.sql import SparkSession

    # not newSession: what a program has set on its own holds here too
    brief = SparkSession(session.sparkContext, session._jsparkSession.cloneSession())
    for name, value in _BRIEF.items():
        brief.conf.set(name, value)
    return brief


def read_here(
    session: SparkSession,
    schema: Any,
    slices: Iterable[Slice],
    asked: SourceOptions,
    wait: Callable[[float], Any] = time.sleep,
) -> DataFrame:
    """The rows of segments, read as a task reads them (segments.py); errors as there.

    Rows of one task are known to be one partition: nothing is exchanged behind them.
    `schema` is Spark's, of types from inside. `wait` stands between two looks at a host that is
    away, and for no time at all behind each segment: it raises what ends the reading.
    """
    wanted = arrow_schema(schema)
    batches = []
    for piece in slices:
        for batch in read(piece, wanted.names[1:], asked, wait):
            batches.append(to_spark(batch, wanted, {}))
            wait(0)
    table = pyarrow.Table.from_batches(batches, wanted)
    with _not_active():
        rows = session.createDataFrame(table, schema)
    return rows.coalesce(1) if table.num_rows <= _ROWS_OF_A_TASK else rows


@contextmanager
def _not_active() -> Iterator[None]:
    """A session that makes a DataFrame becomes the active one of all threads, which is not ours."""
    from pyspark.sql import SparkSession

    with _one_at_a_time:
        active = SparkSession._activeSession
        try:
            yield
        finally:
            SparkSession._activeSession = active
