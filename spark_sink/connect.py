# SPDX-License-Identifier: Apache-2.0
"""Sessions of Spark Connect: clients of a server, with no Java and no context of their own."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from spark_sink.job_errors import JobError

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

_REMOTE = "SPARK_REMOTE"
"""PySpark's own variable: with it every session of a program is a client."""
_SCHEME = "sc://"


def context_of(spark: SparkSession) -> SparkContext | None:
    """Return the context of a session; those of Spark Connect have none: it is the server's."""
    context: SparkContext | None = getattr(spark, "sparkContext", None)
    return context


def is_wanted(master: str | None) -> bool:
    """Whether a new session would be a client."""
    from pyspark.sql.utils import is_remote

    return (master or "").startswith(_SCHEME) or _REMOTE in os.environ or bool(is_remote())


def connected(master: str | None, settings: Mapping[str, str]) -> SparkSession:
    """Return a client of the server at `master`, or of the one that the environment names.

    Settings that are the server's own stay as they are, which Spark tells.
    """
    from pyspark.sql import SparkSession

    builder = SparkSession.builder
    if master is not None:
        builder = builder.remote(master)
    for name, value in settings.items():
        builder = builder.config(name, value)
    session: SparkSession = builder.getOrCreate()
    return session


def refuse_for_job(master: str | None) -> None:
    """Raise JobError where a job would run in a client: it watches its queries through Java."""
    if is_wanted(master):
        where = master if (master or "").startswith(_SCHEME) else os.environ.get(_REMOTE)
        raise JobError(
            f"a job does not run through Spark Connect ({where or 'the session that is there'})",
            "give a master such as spark://host:7077, with SPARK_REMOTE unset; in a program, "
            "spark_sink.run_query goes through Spark Connect",
            exit_code=2,
        )
