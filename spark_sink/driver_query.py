# SPDX-License-Identifier: Apache-2.0
"""A query whose rows come to the driver: by window-complete micro-batches, or by Spark's state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from spark_sink.dataframes import dataframe
from spark_sink.offsets import END_MS
from spark_sink.operators.merge import merge_seen_in
from spark_sink.sinks import DriverSink, start
from spark_sink.streaming import Running, Stateful, streams_of
from spark_sink.window_complete.due import can_answer
from spark_sink.window_complete.leaving import Leaving
from spark_sink.window_complete.query import SpoolQuery, WindowCompleteQuery


def start_on_driver(
    asked: SpoolQuery, sink: DriverSink, trigger: Mapping[str, Any], *, without_state: bool = True
) -> Running:
    """Start it; `without_state` asks for window-complete micro-batches, where there is a choice.

    Raises JobError.
    """
    if can_answer(asked.plan, asked.output) and (without_state or not may_choose(asked)):
        return WindowCompleteQuery(asked, sink, trigger).start()
    leaving = leaving_after(asked.after_ms)
    rows = dataframe(asked.plan, asked.output, asked.read, leaving)
    query = start(sink.writer(rows), asked.checkpoint, asked.name, trigger)
    return Stateful(query, sink, streams=streams_of(rows), checkpoint=asked.checkpoint)


def may_choose(asked: SpoolQuery) -> bool:
    """Return whether both ways can answer.

    Window-complete micro-batches cannot where rows leave at once, for which Spark keeps no state
    either. What is in order is so within them alone, and always answered by them.
    """
    return can_answer(asked.plan, asked.output) and merge_seen_in(asked.output) is None


def leaving_after(after_ms: int | None) -> Leaving | None:
    """Which windows of a stream leave at all, where it takes up behind a point."""
    return None if after_ms is None else Leaving(after_ms, END_MS)
