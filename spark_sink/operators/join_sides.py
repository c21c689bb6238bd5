# SPDX-License-Identifier: Apache-2.0
"""What a side of a join is on Spark: its rows with what they are compared by, and until when.

Its columns are `l_c0`, a column of the input, `l_t0`, a time of a relation, and `l_k0`, a key;
those of the right side begin with `r`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from gigastream.gsql.expressions import ports_of
from gigastream.plan.base_time import Alternatives
from gigastream.plan.operators.join import Join
from spark_sink.event_time import END_MS, HeldTime, as_held, has_event_time, held_until, moved
from spark_sink.expressions import Value
from spark_sink.lateness import relation_times
from spark_sink.operators.operator import Times
from spark_sink.operators.rows import is_true, kept, of_bounds, over_columns

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from spark_sink.dataframes import Frames

NAMES = ("l", "r")


@dataclass(frozen=True, slots=True)
class Ways:
    """A relation of times by which rows leave: both sides have ends that Spark can compute."""

    pair: int
    sides: tuple[Alternatives, Alternatives]


def ways_out(node: Join, times: Times) -> list[Ways]:
    """The relations by which Spark can let rows of a join go; any of them is enough."""
    inputs = [times[child.name] for child in node.inputs]
    found = [(at, relation_times(pair, inputs)) for at, pair in enumerate(node.pairs)]
    return [Ways(at, (a, b)) for at, (a, b) in found if has_event_time(a) and has_event_time(b)]


def joined_side(frames: Frames, node: Join, port: int) -> DataFrame:
    """The rows of a side that can match, or are kept."""
    side = _side(node, port, frames.of(node.inputs[port]))
    rows = kept(side.rows, [], [*side.times, *side.keys])
    if not node.keeps[port]:
        rows = rows.where(side.can_match)
    until = side.until(ways_out(node, frames.times)) if frames.needs_ends(rows) else ()
    return rows.select(*until, *side.compared, *side.columns)


def _side(node: Join, port: int, rows: DataFrame) -> _Side:
    times = [pair.sides[port] for pair in node.pairs]
    keys = [over_columns(key[port], rows, rows) for key in node.keys]
    return _Side(node, port, rows, [of_bounds(over_columns(e, rows, rows), e) for e in times], keys)


@dataclass(frozen=True, slots=True)
class _Side:
    node: Join
    port: int
    rows: DataFrame
    times: list[Value]
    keys: list[Value]

    @property
    def name(self) -> str:
        return NAMES[self.port]

    @property
    def longs(self) -> list[Column]:
        return [value.column.cast("bigint") for value in self.times]

    @property
    def can_match(self) -> Column:
        """NULL is equal to nothing, and some conditions are of this side alone."""
        there = [value.column.isNotNull() for value in (*self.times, *self.keys)]
        own = [e for e in self.node.residual if ports_of(e) <= {self.port}]
        holds = [is_true(over_columns(e, self.rows, self.rows)) for e in own]
        return reduce(lambda a, b: a & b, [*there, *holds])

    def until(self, ways: list[Ways]) -> Iterator[Column]:
        """Event time, and what is later than all of the other side's."""
        until = held_until([self._held(way) for way in ways], f"{self.name}_until")
        yield until
        yield F.greatest(until, F.timestamp_millis(F.lit(END_MS + 1))).alias(f"{self.name}_end")

    def _held(self, way: Ways) -> HeldTime:
        own, others = way.sides[self.port], way.sides[1 - self.port]
        return HeldTime(
            self.longs[way.pair], own, others, self.node.pairs[way.pair].reach[self.port]
        )

    @property
    def compared(self) -> Iterator[Column]:
        yield self.can_match.alias(f"{self.name}_can_match")
        # a key of all rows, where there is no other: so that the optimizer does not see it
        yield F.expr("spark_partition_id() < 0").alias(f"{self.name}_all")
        for at, value in enumerate(self.keys):
            yield value.column.alias(f"{self.name}_k{at}")
        for at in range(len(self.node.pairs)):
            yield from self._reached(at)

    def _reached(self, at: int) -> Iterator[Column]:
        """A time; of a band, on the left, the least and the greatest that it matches too."""
        pair = self.node.pairs[at]
        value = as_held(self.longs[at], pair.sides[self.port].temporal)
        yield value.alias(f"{self.name}_t{at}")
        if self.port == 0 and not pair.is_equality:
            yield moved(value, -pair.reach[1]).alias(f"l_low{at}")
            yield moved(value, pair.reach[0]).alias(f"l_high{at}")

    @property
    def columns(self) -> list[Column]:
        return [self.rows[name].alias(f"{self.name}_{name}") for name in self.rows.columns]
