# SPDX-License-Identifier: Apache-2.0
"""Aggregation over windows that overlap on Spark: a row, or a pane's partial row, for each window.

A window that is over is complete as any group is, under the event time of its end.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from gigastream.gsql.order.bounds import NONE
from gigastream.gsql.order.inference import monotone
from gigastream.plan.base_time import through
from gigastream.plan.operators.aggregate import Aggregate
from gigastream.plan.operators.slide import Slide
from spark_sink.operators.aggregate import AggregateOnSpark
from spark_sink.operators.operator import Lines, Times

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from gigastream.plan import Plan
    from spark_sink.dataframes import Frames

PANE = "g0"
"""What is the window from here on."""


class SlideOnSpark(AggregateOnSpark):
    """The pane gives way to the windows that it is in, before there are groups."""

    def _ending(self, frames: Frames, node: Aggregate, keyed: DataFrame) -> DataFrame:
        assert isinstance(node, Slide)
        windows = F.explode(_windows(node, keyed[PANE].cast("bigint")))
        return super()._ending(frames, node, keyed.withColumn(PANE, windows))

    def begins(self, node: Aggregate, times: Times, base_ns: int) -> int:
        """The first pane of the first window that is not over."""
        assert isinstance(node, Slide)
        (ways,) = through([monotone(node.groups[0].expression)], [times[node.input.name]])
        firsts = ((f, _first_pane(node, f.forward(base_ns))) for f in ways)
        return min((f.inverse(pane) for f, pane in firsts), default=NONE)

    def lines(self, plan: Plan, node: Aggregate, times: Times) -> Lines:
        assert isinstance(node, Slide)
        yield "explode", f"a pane into the windows of {node.range:,} panes that it is in"
        pane, *others = node.groups
        windowed = replace(node, groups=(replace(pane, name="wid"), *others))
        yield from super().lines(plan, windowed, times)


def _first_pane(node: Slide, pane: int) -> int:
    """Of the first window that a pane is in, or the next one."""
    return (pane // node.slide + 1) * node.slide - node.range


def _windows(node: Slide, pane: Column) -> Column:
    """Their ids: csrc/abi/gs_sliding.h in Spark's arithmetic."""
    slide = F.lit(node.slide).cast("bigint")
    into = F.pmod(pane, slide)
    first = F.call_function("div", pane - into, slide)
    count = F.call_function("div", into + node.range, slide)
    return F.sequence(first, first + count - 1)
