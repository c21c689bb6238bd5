# SPDX-License-Identifier: Apache-2.0
"""How much later than its own time a row can come out of a join, as part of what a column is.

A row waits in a join for what it may match. What is above must not take the row's time for over
while it waits: Spark would drop the row as late. So a column that came through a join is a function
of base time less how long it may have waited there, a number of nanoseconds, and event_time.py adds
that number to the end of a value without knowing of joins. A minute that is equated with the same
minute waits for nothing: its rows are out when it ends.

A relation says y - x <= F of values x and y of the two sides (OPERATORS section 4). Both are held
against lines that all ends of values lie near, so that F is a number of nanoseconds too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gigastream.gsql.expressions import Expression
from gigastream.gsql.order import bounds
from gigastream.gsql.order.functions import Leaf, Parts, Stepped
from gigastream.gsql.order.inference import TIMESTAMP, Monotone, monotone
from gigastream.gsql.queries import TimeRelation
from gigastream.gsql.types import Temporal
from gigastream.plan.base_time import BaseTimes, through
from gigastream.plan.nodes import Node
from gigastream.plan.operators.join import Join
from spark_sink.event_time import has_event_time
from spark_sink.lines import LineOfEnds, line_of


@dataclass(frozen=True, slots=True)
class Late:
    """The columns of a node's rows, and how far apart the times of one row can be, in ns."""

    times: BaseTimes
    spread: int = 0


def late_rows(node: Node, inputs: Sequence[Late]) -> Late:
    """Those of an operator that holds no row beyond its own time."""
    spread = max((each.spread for each in inputs), default=0)
    return Late(node.base_times([each.times for each in inputs]), spread)


def joined_rows(node: Join, inputs: Sequence[Late]) -> Late:
    """Those of a join; no column is a time where no relation bounds how long its rows wait."""
    waits = _waits(node, inputs)
    if not waits:
        return Late(tuple(() for _ in node.schema.columns))
    lags = [_lags(waits, port, each) for port, each in enumerate(inputs)]
    delayed = [_delayed(each.times, of) for each, of in zip(inputs, lags, strict=True)]
    apart = min(wait.apart for wait in waits) + max(map(max, (lags[0] or [0], lags[1] or [0])))
    return Late(node.base_times(delayed), sum(each.spread for each in inputs) + apart)


def join_lags(node: Join, inputs: Sequence[Late]) -> list[list[int]] | None:
    """By side and column, how long rows may wait in a join, in ns; None where nothing says so."""
    waits = _waits(node, inputs)
    return [_lags(waits, port, late) for port, late in enumerate(inputs)] if waits else None


def relation_times(pair: TimeRelation, inputs: Sequence[BaseTimes]) -> BaseTimes:
    """Both sides of a relation as functions of base time."""
    return through(map(monotone, pair.sides), inputs)


# A relation


@dataclass(frozen=True, slots=True)
class _Wait:
    """A relation of times, in ns."""

    sides: tuple[Expression, Expression]
    lags: tuple[int, int]
    """By side, how far behind the end of its value a row of it may come out."""
    granules: tuple[int, int]
    """By side, how long a value lasts at most."""
    apart: int
    """How far the times of two rows that match are apart at most."""


def _waits(node: Join, inputs: Sequence[Late]) -> list[_Wait]:
    return [wait for pair in node.pairs if (wait := _wait(pair, inputs)) is not None]


def _wait(pair: TimeRelation, inputs: Sequence[Late]) -> _Wait | None:
    ways = relation_times(pair, [each.times for each in inputs])
    lines = [line_of(each) if has_event_time(each) else None for each in ways]
    own, other = lines
    if own is None or other is None or own.rate != other.rate:
        return None
    lags = (_ahead(own, other, pair.reach[0]), _ahead(other, own, pair.reach[1]))
    if ways[0] == ways[1] and pair.is_equality:
        lags = (0, 0)
    apart = max(
        own.distance(other, pair.reach[0] + 1),
        other.distance(own, pair.reach[1] + 1),
    )
    return _Wait(pair.sides, lags, (own.granule, other.granule), max(0, apart))


def _ahead(own: LineOfEnds, other: LineOfEnds, reach: int) -> int:
    return max(0, own.distance(other, max(0, reach)))


def _lags(waits: Sequence[_Wait], port: int, late: Late) -> list[int]:
    """For each column of a side, how long its rows may wait; any relation that is over ends it."""
    return [
        min(wait.lags[port] + _behind(wait, port, index, late) for wait in waits)
        for index in range(len(late.times))
    ]


def _behind(wait: _Wait, port: int, index: int, late: Late) -> int:
    """How far the end of the relation's value is behind the end of a column's, at most."""
    function, line = monotone(wait.sides[port]), line_of(late.times[index])
    assert function is not None
    if line is None or [item.index for item in function.inputs] != [index]:
        return wait.granules[port] - 1 + late.spread
    return max(0, wait.granules[port] - line.shortest)  # a value of it lasts for several of these


# Columns that wait


def _delayed(columns: BaseTimes, lags: Sequence[int]) -> BaseTimes:
    return tuple(
        tuple(_after(function, lag) for function in ways)
        for ways, lag in zip(columns, lags, strict=True)
    )


def _after(function: Monotone, lag: int) -> Monotone:
    return function if lag == 0 else function.of([_base_time_less(lag)])


def _base_time_less(lag: int) -> Monotone:
    parts = Parts()
    parts.add(Stepped(bounds.Add(-lag), parts.add(Leaf(0))))
    return Monotone(Temporal.INCREASING, (TIMESTAMP,), parts.function())
