# SPDX-License-Identifier: Apache-2.0
"""Aggregation over windows that overlap on Spark: a row, or a pane's partial row, for each window.

A window that is over is complete as any group is, under the event time of its end.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from gigastream.gsql.diagnostics import Diagnostic
from gigastream.gsql.order.bounds import NONE
from gigastream.gsql.order.inference import monotone
from gigastream.plan.base_time import through
from gigastream.plan.operators.slide import Slide
from spark_sink.lateness import Late
from spark_sink.operators.aggregate import AggregateOnSpark
from spark_sink.operators.operator import Lines, Times
from spark_sink.operators.passing import begins_with

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from gigastream.plan import Plan

PANE = "g0"
"""What is the window from here on."""


class SlideOnSpark(AggregateOnSpark[Slide]):
    """The pane gives way to the windows that it is in, before there are groups."""

    def _windowed(self, node: Slide, keyed: DataFrame) -> DataFrame:
        return keyed.withColumn(PANE, F.explode(_windows(node, keyed[PANE].cast("bigint"))))

    def begins(self, node: Slide, inputs: Sequence[Late], base_ns: int) -> int:
        """The first pane of the first window that is not over, or what another time says."""
        columns = [late.times for late in inputs]
        (panes,) = through([monotone(node.groups[0].expression)], columns)
        firsts = (f.inverse(_first_pane(node, f.forward(base_ns))) for f in panes)
        times = node.group_times(columns)
        others = [times[index] for index in node.temporal_groups if index > 0]
        return max(min(firsts, default=NONE), begins_with(others, base_ns))

    def lines(self, plan: Plan, node: Slide, times: Times) -> Lines:
        yield "explode", f"a pane into the windows of {node.range:,} panes that it is in"
        yield from super().lines(plan, _in_words(node), times)

    def stream_refusals(self, node: Slide, times: Times) -> Iterator[Diagnostic]:
        yield from super().stream_refusals(_in_words(node), times)


def _in_words(node: Slide) -> Slide:
    """In words the pane is the window."""
    pane, *others = node.groups
    return replace(node, groups=(replace(pane, name="wid"), *others))


def _first_pane(node: Slide, pane: int) -> int:
    """Of the first window that is not over at the beginning of a pane."""
    return max(NONE, (pane // node.slide + 1) * node.slide - node.range)


def _windows(node: Slide, pane: Column) -> Column:
    """Their ids: csrc/abi/gs_sliding.h in Spark's arithmetic. There is one at least."""
    slide = F.lit(node.slide).cast("bigint")
    into = F.pmod(pane, slide)
    # rounded down, and no step beyond 64 bits on the way
    first = F.call_function("div", pane, slide) - (pane % slide < 0).cast("bigint")
    count = F.call_function("div", into + F.lit(node.range).cast("bigint"), slide)
    return F.sequence(first, first + count - 1)
