# SPDX-License-Identifier: Apache-2.0
"""The source made known to a session, and to executors that have no Gigastream of their own."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING

from spark_sink.connect import context_of
from spark_sink.ip_functions import register_ip_functions
from spark_sink.source import GigastreamSource

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

SHIPPED = (
    "gigastream.batch_calls",
    "gigastream.group_calls",
    "gigastream.gsql.python_code",
    "gigastream.gsql.regular_expressions",
    "gigastream.ipc_messages",
    "gigastream.late_dataclass",
    "gigastream.opaque",
    "gigastream.punctuation",
    "gigastream.spool",
    "gigastream.udf_mark",
    "spark_sink.admission",
    "spark_sink.arrow_text",
    "spark_sink.damage_log",
    "spark_sink.errors",
    "spark_sink.expressions.prefix_files",
    "spark_sink.expressions.regular_expressions",
    "spark_sink.ip_functions",
    "spark_sink.segment_index",
    "spark_sink.look_pace",
    "spark_sink.offsets",
    "spark_sink.options",
    "spark_sink.patience",
    "spark_sink.places",
    "spark_sink.python_functions",
    "spark_sink.reading",
    "spark_sink.remembered",
    "spark_sink.segments",
    "spark_sink.silences",
    "spark_sink.source",
    "spark_sink.spark_types",
    "spark_sink.spools",
    "spark_sink.state_library",
    "spark_sink.stream_columns",
    "spark_sink.table_options",
    "spark_sink.tracks",
    "spark_sink.value_lists",
)
"""All that workers run, of the source and of functions: Python and pyarrow, nothing compiled."""

ADDED_BY_SPARK = (
    "SPARK_LOCAL_DIRS",
    "SPARK_AUTH_SOCKET_TIMEOUT",
    "SPARK_BUFFER_SIZE",
    "SPARK_PYTHON_RUNTIME",
)
"""To the environment of a source's workers, by its PythonStreamingSourceRunner."""

_one_at_a_time = threading.Lock()


def register(spark: SparkSession) -> None:
    """Make `format("gigastream")` known to a session, and to its SQL the functions of addresses."""
    register_source(spark)
    register_ip_functions(spark)


def register_source(spark: SparkSession) -> None:
    """Make `format("gigastream")` known to a session.

    Where its Java may be another machine's, our code goes there with it.
    """
    if not _is_here(spark):
        ship_with_tasks()
    context = context_of(spark)
    if context is None:
        spark.dataSource.register(GigastreamSource)
        return
    with _full_environment(context):
        spark.dataSource.register(GigastreamSource)


def _is_here(spark: SparkSession) -> bool:
    context = context_of(spark)
    return context is not None and context.master.startswith("local")


@contextmanager
def _full_environment(context: SparkContext) -> Iterator[None]:
    """Register with all the variables that Spark adds itself when a stream starts.

    It adds them to the one map that all uses of a source share, and overwrites what is there. A map
    that grew while tasks of another query were being sent with it would arrive torn, and the query
    would fail; one that has them does not grow. So with the driver's own: another thread may be
    sending a function with it, which is why it is replaced and never changed.
    """
    with _one_at_a_time:
        known = context.environment
        context.environment = {**dict.fromkeys(ADDED_BY_SPARK, ""), **known}
        try:
            yield
        finally:
            context.environment = known


def ship_with_tasks() -> None:
    """Send our code along with the tasks, for executors without the package.

    Call it before `register`: `--py-files` is not enough, since the process that plans a streaming
    source on the driver does not look into them.
    """
    from pyspark.cloudpickle import register_pickle_by_value

    for name in SHIPPED:
        register_pickle_by_value(import_module(name))
