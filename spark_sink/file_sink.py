# SPDX-License-Identifier: Apache-2.0
"""Window-complete micro-batches into files by Spark's own file sink, each of them once.

Spark's sink lists in `_spark_metadata` which files count, by the number of the micro-batch: one
that comes again is known there and left out. So it would the first ones of another checkpoint,
without a word: such a folder is refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gigastream.gsql.types import Schema
from spark_sink.checkpoint import filesystem, has_numbers
from spark_sink.job_errors import JobError
from spark_sink.results import in_result_types

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame, SparkSession

_SINK = "org.apache.spark.sql.execution.streaming.sinks.FileStreamSink"
_PARQUET = "org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat"
_METADATA = "_spark_metadata"


class SparkFileSink:
    """A folder of Parquet files.

    It gets micro-batches without rows, too: where numbers are missing Spark does not put their
    lists together.
    """

    written = None
    """Spark's file sink does not say."""

    def __init__(
        self, session: SparkSession, path: str, schema: Schema, options: Mapping[str, str]
    ) -> None:
        self.error: BaseException | None = None
        self._schema = schema
        self._sink = _file_sink(session, path, options)

    def write(self, rows: DataFrame, number: int) -> None:
        """Take the rows of a micro-batch, in types from inside; the same number: the same rows."""
        self._sink.addBatch(number, in_result_types(rows, self._schema)._jdf)


def _file_sink(session: SparkSession, path: str, options: Mapping[str, str]) -> Any:
    context = session.sparkContext
    jvm: Any = context._jvm
    nothing = context._gateway.new_array(jvm.java.lang.Class, 0)
    constructor = jvm.java.lang.Class.forName(_PARQUET).getConstructor(nothing)
    parquet = constructor.newInstance(context._gateway.new_array(jvm.java.lang.Object, 0))
    columns, said = jvm.PythonUtils.toSeq([]), jvm.PythonUtils.toScalaMap(dict(options))
    make = getattr(jvm, _SINK)
    return make(session._jsparkSession, _qualified(context, path), parquet, columns, said)


def _qualified(context: Any, path: str) -> str:
    """Whole, as Spark's writers make it of what is asked for."""
    given = context._jvm.org.apache.hadoop.fs.Path(path)
    system = given.getFileSystem(context._jsc.hadoopConfiguration())
    return str(system.makeQualified(given).toString())


def check_is_free(path: str, place: str) -> None:
    """Refuse a folder that another checkpoint's micro-batches are listed in. Raises JobError.

    `place` has the progress of this output: once there is any, the folder is its own.
    """
    try:
        is_begun = any(_is_numbered(f"{place}/{part}") for part in ("offsets", "planned"))
        is_free = is_begun or not _is_numbered(f"{path}/{_METADATA}")
    except OSError as error:
        raise JobError(f"{path}: {error}", exit_code=2) from None
    if not is_free:
        raise JobError(
            f"{path} has rows of another checkpoint, after whose micro-batches Spark counts: the "
            "first ones of this would be left out",
            "-o parquet:ANOTHER, or the checkpoint that has written there",
            exit_code=2,
        )


def _is_numbered(folder: str) -> bool:
    return has_numbers(*filesystem(folder))
