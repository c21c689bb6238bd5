# SPDX-License-Identifier: Apache-2.0
"""strftime: the front end's own formats, called by Python workers."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as F

from gigastream.gsql.time_formats import TimeFormat
from spark_sink.remembered import remembered

_FORMATS = 1 << 10
"""Formats that a worker keeps; a query has a few."""


def formatting(text: bytes, tick_ns: int) -> Callable[[Column], Column]:
    """A time as text; its column counts ticks of so many ns. NULL over NULL."""

    def formatted(times: pa.Array) -> pa.Array:
        time_format = _format(text)
        found = [t if t is None else time_format.text(t * tick_ns) for t in times.to_pylist()]
        return pa.array(found, pa.binary())

    function: Callable[[Column], Column] = F.arrow_udf(formatted, "binary")
    return function


@remembered(_FORMATS)
def _format(text: bytes) -> TimeFormat:
    """Once for each process: a worker lives through many tasks."""
    return TimeFormat(text)
