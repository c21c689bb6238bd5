# SPDX-License-Identifier: Apache-2.0
"""A query whose rows come to the driver: by window-complete micro-batches, or by Spark's state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from spark_sink.dataframes import dataframe
from spark_sink.sinks import DriverSink, start
from spark_sink.streaming import Running, Stateful
from spark_sink.window_complete.due import can_answer
from spark_sink.window_complete.query import SpoolQuery, WindowCompleteQuery


def start_on_driver(
    asked: SpoolQuery, sink: DriverSink, trigger: Mapping[str, Any], *, without_state: bool
) -> Running:
    """Start it; `without_state` asks for window-complete micro-batches, where they can answer.

    They cannot where rows leave at once, for which Spark keeps no state either. Raises JobError.
    """
    if without_state and can_answer(asked.plan, asked.output):
        return WindowCompleteQuery(asked, sink, trigger).start()
    writer = sink.writer(dataframe(asked.plan, asked.output, asked.read))
    return Stateful(start(writer, asked.checkpoint, asked.name, trigger), sink)
