# SPDX-License-Identifier: Apache-2.0
"""The high level of a plan as Spark DataFrames, batch or streaming.

Each node becomes DataFrame operations over those of its inputs: its operator's file in operators/
says which. Columns go by position inside (c0, c1, …), since two streams may use one name, and names
of GSQL are not Spark's; an output has the query's names. Types are those inside (spark_types.py). A
row whose expression has no value is dropped where the engine drops it (GSQL section 3).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from gigastream.plan.base_time import Alternatives
from gigastream.plan.nodes import Node
from gigastream.plan.operators.low_node import LowNode
from gigastream.plan.operators.output import Output
from gigastream.plan.plan import Plan
from spark_sink.event_time import event_time
from spark_sink.operators import column_times, operator_of
from spark_sink.window_complete.leaving import Leaving

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

Read = Callable[[LowNode, tuple[str, ...]], "DataFrame"]
"""Gives columns of a stream of the low level, in order, behind the heartbeat's: timestamps in
nanoseconds, an ullong as its bits (the source's options say so)."""


def dataframe(plan: Plan, output: Output, read: Read, leaving: Leaving | None = None) -> DataFrame:
    """The rows of an output, in types from inside, under the query's column names.

    `leaving` says which of them; None: all.
    """
    return Frames(plan, read, leaving).of(output)


class Frames:
    """The DataFrames of a plan's nodes; each stream from below is one source."""

    def __init__(self, plan: Plan, read: Read, leaving: Leaving | None = None) -> None:
        self.plan = plan
        self._leaving = leaving
        self._waiting = 0  # the nodes that wait for time, on the way down to where we are
        self.times = column_times(plan)
        self.columns_of_bits = {
            stream: places
            for node in plan.nodes
            for stream, places in operator_of(node).columns_of_bits(node).items()
        }
        """By stream of the low level, its columns of ullongs that are left as their bits."""
        self._read = read
        self._streams: dict[str, DataFrame] = {}

    def of(self, node: Node) -> DataFrame:
        """The DataFrame of a node, another one for each of its consumers.

        Of two equal subtrees Spark would reuse one's exchange for the other, below which it then
        finds no watermark: its groups would never be over. Watermarks of their own keep them apart.
        """
        operator = operator_of(node)
        self._waiting += operator.waits
        rows = operator.frame(self, node)
        self._waiting -= operator.waits
        return rows

    def needs_ends(self, rows: DataFrame) -> bool:
        """Whether anything leaves here by its event time: all of a batch does at once."""
        return rows.isStreaming or self.lets_go

    def leaving(self, rows: DataFrame) -> DataFrame:
        """The rows of a node that waits, with their event times, that leave it with this batch.

        All of them where a consumer still waits: what ends there is made of more.
        """
        return self._leaving.of(rows) if self._leaving is not None and self.lets_go else rows

    def in_time(self, rows: DataFrame, values: Sequence[tuple[Column, Alternatives]]) -> DataFrame:
        """The same, of rows that wait for temporal values (bigint), what they are of base time.

        Those of a stream get their event time, in front, by which Spark lets them go.
        """
        if self._leaving is not None and self.lets_go:
            rows = self._leaving.of_values(rows, values)
        return rows.select(event_time(values), "*") if rows.isStreaming else rows

    @property
    def lets_go(self) -> bool:
        """Whether not all rows leave, and which do is asked here: no consumer waits, too."""
        return self._leaving is not None and self.is_last_to_wait

    @property
    def is_last_to_wait(self) -> bool:
        """Whether no consumer of the node that waits here does so, too."""
        return self._waiting == 1

    def stream(self, node: LowNode, columns: tuple[str, ...]) -> DataFrame:
        """What the source gives of a stream from below, read once."""
        if node.name not in self._streams:
            self._streams[node.name] = self._read(node, columns)
        return self._streams[node.name]
