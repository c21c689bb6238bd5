# SPDX-License-Identifier: Apache-2.0
"""The high level on Spark: a source that reads spools, and queries over it.

    import spark_sink

    spark_sink.register(spark)
    rows = spark.readStream.format("gigastream").option("path", "/var/spool/gs").load()

Where the package is installed, Spark finds the source by its name and `register` is not needed.
Nothing is loaded before it is used: without Spark, `import spark_sink` costs a millisecond.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from spark_sink.ip_functions import ip_bytes, ip_in, ip_number, ip_prefix, ip_text
    from spark_sink.progress_log import ProgressLog
    from spark_sink.registration import register, ship_with_tasks
    from spark_sink.run import run_query
    from spark_sink.source import GigastreamSource
    from spark_sink.spark_types import unsigned
    from spark_sink.views import create_temp_views

__all__ = [
    "GigastreamSource",
    "ProgressLog",
    "create_temp_views",
    "ip_bytes",
    "ip_in",
    "ip_number",
    "ip_prefix",
    "ip_text",
    "register",
    "run_query",
    "ship_with_tasks",
    "unsigned",
]

_HOME = {
    "GigastreamSource": "spark_sink.source",
    "ProgressLog": "spark_sink.progress_log",
    "create_temp_views": "spark_sink.views",
    "ip_bytes": "spark_sink.ip_functions",
    "ip_in": "spark_sink.ip_functions",
    "ip_number": "spark_sink.ip_functions",
    "ip_prefix": "spark_sink.ip_functions",
    "ip_text": "spark_sink.ip_functions",
    "register": "spark_sink.registration",
    "run_query": "spark_sink.run",
    "ship_with_tasks": "spark_sink.registration",
    "unsigned": "spark_sink.spark_types",
}
"""Where each name is defined; it is imported from there when it is asked for."""


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def _register_where_spark_runs() -> None:
    """A session that is already there knows the source from now on."""
    if "pyspark.sql" not in sys.modules:
        return
    session = sys.modules["pyspark.sql"].SparkSession.getActiveSession()
    if session is not None:
        __getattr__("register")(session)


_register_where_spark_runs()
