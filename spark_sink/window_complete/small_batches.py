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
"""Of segments' files."""
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


def is_small(slices: Iterable[Slice], most_bytes: int) -> bool:
    """Whether the segments of a micro-batch are of so many bytes at most."""
    return sum(entry.size_bytes for piece in slices for entry in piece.entries) <= most_bytes


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
    away.
    """
    wanted = arrow_schema(schema)
    batches = [
        to_spark(batch, wanted, {})
        for piece in slices
        for batch in read(piece, wanted.names[1:], asked, wait)
    ]
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
