# SPDX-License-Identifier: Apache-2.0
"""What spools hold as views of a session, for whoever asks in SQL."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

from gigastream.spool import Spool
from gigastream.spool.plan import plan_of_spools
from spark_sink.hinting import with_hints
from spark_sink.options import access_of
from spark_sink.registration import register
from spark_sink.run import Spools, run_query, spool_paths
from spark_sink.session import make_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@with_hints
def create_temp_views(
    spools: Spools,
    *,
    spark: SparkSession | None = None,
    options: Mapping[str, str] | None = None,
) -> list[str]:
    """Make a temporary view of each stream of some spools and of each query's answer.

        from spark_sink import create_temp_views

        create_temp_views("/var/spool/gigastream")      # ['talkers', 'talkers_low']
        spark.sql("SELECT srcIP, sum(bytes) FROM talkers GROUP BY srcIP").show()

    Each question to a view reads what the spools hold then. A view of the same name is replaced. A
    stream that is an answer as it is gives one view, the answer.
    `spark` and `options` are as for `run_query`. Returns the views' names, sorted. Raises what
    `run_query` raises.
    """
    paths = spool_paths(spools)
    asked = dict(options or {})
    opened = [Spool(path, access=access_of(asked)) for path in paths]
    streams = {track.stream for spool in opened for track in spool.tracks()}
    outputs = [node.name for node in plan_of_spools(opened, None).outputs]
    session = spark or make_session()
    register(session)
    views = {name: _stream(session, paths, name, asked) for name in streams} | {
        name: run_query(paths, output=name, spark=session, streaming=False, options=asked)
        for name in outputs
    }
    for name, rows in views.items():
        rows.createOrReplaceTempView(f"`{name}`")
    return sorted(views)


def _stream(
    session: SparkSession, paths: list[str], name: str, options: Mapping[str, str]
) -> DataFrame:
    asked = {**options, "paths": json.dumps(paths), "stream": name}
    return session.read.format("gigastream").options(**asked).load()
