# SPDX-License-Identifier: Apache-2.0
"""The source made known to a session, and to executors that have no Gigastream of their own."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from spark_sink.source import GigastreamSource

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SHIPPED = (
    "gigastream.spool",
    "spark_sink.admission",
    "spark_sink.errors",
    "spark_sink.ledger",
    "spark_sink.offsets",
    "spark_sink.options",
    "spark_sink.reading",
    "spark_sink.segments",
    "spark_sink.source",
    "spark_sink.spark_types",
    "spark_sink.spools",
    "spark_sink.stream_columns",
    "spark_sink.tracks",
)
"""All that the source's workers run: Python and pyarrow alone, nothing compiled."""


def register(spark: SparkSession) -> None:
    """Make `format("gigastream")` known to a session."""
    spark.dataSource.register(GigastreamSource)


def ship_with_tasks() -> None:
    """Send our code along with the tasks, for executors without the package.

    Call it before `register`: `--py-files` is not enough, since the process that plans a streaming
    source on the driver does not look into them.
    """
    from pyspark.cloudpickle import register_pickle_by_value

    for name in SHIPPED:
        register_pickle_by_value(import_module(name))
