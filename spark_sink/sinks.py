# SPDX-License-Identifier: Apache-2.0
"""Where a job's rows go: Spark's own sinks and tables, exactly once, or formats that are printed.

Tables (gigastream.sinks) are written by the driver, a micro-batch in one transaction with its
number. The formats of `gigastream run` print there, through whatever makes a batch of the engine of
Arrow: this side does not import the engine, its caller hands that in.
"""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import functions as F

from gigastream.gsql.types import Schema, Type
from gigastream.outputs import FORMATS, Batch
from gigastream.sinks import SINKS, Key, SinkPlace, SinkTable, is_sink, parse_sink_place
from spark_sink.job_errors import JobError
from spark_sink.results import in_result_types, to_record_batches
from spark_sink.spark_checkpoint import make_ready

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming import DataStreamWriter, StreamingQuery

MakeBatch = Callable[["pyarrow.RecordBatch", Schema], Batch]
"""Gives a gigastream.outputs.Batch of rows in the engine's Arrow types."""


class Printer(Protocol):
    """What rows are printed to: a gigastream.outputs.Output."""

    def write(self, query_name: str, batch: Batch) -> None: ...


SPARK = "spark"
FILES = "parquet"
"""A format of ours that in a job is Spark's, whose files are exactly once."""
_MEMORY = "memory"
"""A sink that Spark finds in no list."""
_BEGINNING = "Initializing sources"
_GIVEN_UP = "Python worker failed to connect back"
_STARTS = 5
_WATCH_SECONDS = 0.02
_ONE_VALUE = ("kafka", "text")
"""Sinks that take one column, `value`: a row goes there as JSON."""
_NO_BINARY = (*_ONE_VALUE, "csv", "json", "console")
"""Sinks in which strings are text."""


@dataclass(frozen=True, slots=True)
class Sink:
    """One output of a job: `FORMAT[:PATH]`, `spark:FORMAT[:PATH]` or `SINK:PLACE[#TABLE]`."""

    text: str
    """As it was asked for."""
    format: str
    path: str | None
    is_sparks: bool
    tables: SinkPlace | None = None
    """Of what is neither Spark's nor printed."""

    @property
    def is_printed(self) -> bool:
        """Whether the engine makes text of the rows."""
        return not self.is_sparks and self.tables is None


def parse_sink(text: str) -> Sink:
    """Read an output of a job. Raises JobError, which names the formats, and SinkError."""
    if is_sink(text):
        tables = parse_sink_place(text)
        return Sink(text, tables.sink, tables.place, is_sparks=False, tables=tables)
    first, _, rest = text.partition(":")
    if first == SPARK and rest:
        name, _, path = rest.partition(":")
        return Sink(text, name, path or None, is_sparks=True)
    if first == FILES and not rest:
        raise JobError("Parquet files need a folder", f"-o {FILES}:PATH", exit_code=2)
    if first not in FORMATS:
        known = ", ".join((*FORMATS, *SINKS, f"{SPARK}:FORMAT"))
        raise JobError(f"there is no output format '{text}'", f"one of {known}", exit_code=2)
    return Sink(text, first, rest or None, is_sparks=first == FILES)


def start(
    writer: DataStreamWriter, checkpoint: str, name: str, trigger: Mapping[str, Any]
) -> StreamingQuery:
    """Start a streaming query, and return once its sources are there.

    Each has a Python process of its own, to which Spark gives ten seconds; several at once may
    need more on a machine that is busy, and one that did is given another start. Raises JobError
    where the checkpoint cannot be used.
    """
    asked = (
        writer.queryName(name)
        .outputMode("append")
        .option("checkpointLocation", checkpoint)
        .trigger(**trigger)
    )
    for starts_left in reversed(range(_STARTS)):
        make_ready(checkpoint)
        query = asked.start()
        while query.isActive and query.status["message"] == _BEGINNING:
            time.sleep(_WATCH_SECONDS)
        if not starts_left or not _was_too_slow(query):
            break
        query.stop()  # wait for its end: it has its name so long
    return query


def _was_too_slow(query: StreamingQuery) -> bool:
    """Whether Spark has given a Python process up that had not come so far."""
    return _GIVEN_UP in str(query.exception() or "")


def check_format(session: SparkSession, sink: Sink) -> None:
    """Raise JobError where Spark does not know the format of a sink of its own."""
    if not sink.is_sparks or sink.format == _MEMORY:
        return
    java: Any = session
    sources = java._jvm.org.apache.spark.sql.execution.datasources.DataSource
    try:
        sources.lookupDataSource(sink.format, java._jsparkSession.sessionState().conf())
    except (Py4JError, PySparkException):
        raise JobError(
            f"{sink.text}: Spark has no format '{sink.format}' here",
            "--conf spark.jars.packages=… brings what is not Spark's own",
            exit_code=2,
        ) from None


def spark_writer(
    rows: DataFrame, schema: Schema, sink: Sink, options: Mapping[str, str], folder: str | None
) -> DataStreamWriter:
    """Return what writes an output's rows (in types from inside) to a sink of Spark's.

    `folder` is put behind the sink's path: each of several queries has its own.
    """
    typed = _fit_for(sink.format, in_result_types(rows, schema), schema)
    writer = typed.writeStream.format(sink.format).options(**options)
    if sink.path is None:
        return writer
    return writer.option("path", sink.path if folder is None else f"{sink.path}/{folder}")


def _fit_for(format_name: str, rows: DataFrame, schema: Schema) -> DataFrame:
    if format_name in _NO_BINARY:
        strings = [c.name for c in schema.columns if c.type is Type.STRING]
        rows = rows.withColumns(
            {name: F.make_valid_utf8(rows[f"`{name}`"].cast("string")) for name in strings}
        )
    if format_name in _ONE_VALUE:
        return rows.select(F.to_json(F.struct("*"), {"ignoreNullFields": "false"}).alias("value"))
    return rows


class DriverSink(ABC):
    """Takes an output's rows on the driver, micro-batch by micro-batch.

    Rows of one micro-batch come in the order of their windows. `written` counts them, `error` is
    what went wrong while they were written; the streaming query ends with it.
    """

    def __init__(self, lock: threading.Lock, query: str, schema: Schema) -> None:
        """`lock` is that of the output, which several queries share."""
        self.query = query
        self.written = 0
        self.error: BaseException | None = None
        self._lock = lock
        self._schema = schema

    def writer(self, rows: DataFrame) -> DataStreamWriter:
        """Return what writes rows in types from inside."""
        return rows.writeStream.foreachBatch(self.write)

    def write(self, rows: DataFrame, number: int) -> None:
        """Take the rows of a micro-batch, in types from inside; for foreachBatch."""
        try:
            table = in_time_order(rows.toArrow(), self._schema)
            batches = to_record_batches(table, self._schema)
            with self._lock:
                self._put(batches, number)
        except BaseException as error:
            self.error = error
            raise

    @abstractmethod
    def _put(self, batches: Sequence[pyarrow.RecordBatch], number: int) -> None:
        """Write the rows of a micro-batch; the same number: the same rows."""


class PrintingSink(DriverSink):
    """Prints rows as `gigastream run` does."""

    def __init__(
        self, output: Printer, lock: threading.Lock, query: str, schema: Schema, make: MakeBatch
    ) -> None:
        super().__init__(lock, query, schema)
        self._output = output
        self._make = make

    def _put(self, batches: Sequence[pyarrow.RecordBatch], _number: int) -> None:
        for batch in batches:
            self._output.write(self.query, self._make(batch, self._schema))
            self.written += batch.num_rows


class TableSink(DriverSink):
    """Writes each micro-batch into a table, once: one that is repeated is known by its key."""

    def __init__(
        self, table: SinkTable, writer: str, lock: threading.Lock, query: str, schema: Schema
    ) -> None:
        """`writer` names the job, by its checkpoint."""
        super().__init__(lock, query, schema)
        self._table = table
        self._writer = writer

    def _put(self, batches: Sequence[pyarrow.RecordBatch], number: int) -> None:
        import pyarrow

        rows = pyarrow.Table.from_batches(batches) if batches else ()
        if len(rows) and self._table.write(rows, Key(self._writer, number)):
            self.written += len(rows)


def in_time_order(table: pyarrow.Table, schema: Schema) -> pyarrow.Table:
    """Return the rows sorted by the first temporal column; equal ones stay as they are.

    Partitions come one behind the other; each window of an ordered query lies whole in one.
    """
    for place, column in enumerate(schema.columns):
        if column.temporal.is_temporal:
            direction = "ascending" if column.temporal.value == "increasing" else "descending"
            names = [str(index) for index in range(table.num_columns)]
            return table.rename_columns(names).sort_by([(str(place), direction)])
    return table
