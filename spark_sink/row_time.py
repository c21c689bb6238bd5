# SPDX-License-Identifier: Apache-2.0
"""The time of a query's rows, for whoever goes on from its DataFrame by time.

Spark knows event time by a column's metadata. None of the query's own columns gets it: they may
count minutes, and one cut to microseconds may lie below a watermark that its packet is not below.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from gigastream.plan.base_time import BaseTimes
from spark_sink.event_time import METADATA, event_time, has_event_time
from spark_sink.job_errors import JobError

if TYPE_CHECKING:
    from pyspark.sql import Column

    from gigastream.plan.operators.output import Output


def row_time(node: Output, times: BaseTimes, name: str) -> Column:
    """The last microsecond that a row of an output belongs to, over its columns c0, c1 and so on.

    Of a group that is its window's end, less a microsecond: a window of the hour has the minutes in
    it. `times` are the columns of the output as functions of base time. Raises JobError where none
    of them is.
    """
    names = [column.name for column in node.schema.columns]
    if name.lower() in (each.lower() for each in names):
        raise JobError(
            f"the query has a column {name} already", "give event_time another name", exit_code=2
        )
    timed = [place for place, ways in enumerate(times) if has_event_time(ways)]
    if not timed:
        raise JobError(
            f"the rows of {node.name} have no time: no column is a function of the packets'",
            "SELECT one of the temporal columns that it reads or groups by",
            exit_code=2,
        )
    end = event_time([(F.col(f"c{place}").cast("bigint"), times[place]) for place in timed])
    return (end - F.expr("INTERVAL 1 MICROSECOND")).alias(name, metadata=METADATA)
