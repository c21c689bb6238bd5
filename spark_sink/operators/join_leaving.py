# SPDX-License-Identifier: Apache-2.0
"""What of a join leaves between two punctuations, and how far back what it follows from lies.

A row is held until nothing can come that it matches: an instant of base time that is its own. Two
that match leave at the lesser of both, so that each pair leaves once; one that a side keeps alone
leaves at its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from gigastream.gsql.order.bounds import NONE
from gigastream.plan.operators.join import Join
from spark_sink.event_time import COLUMN as EVENT_TIME
from spark_sink.lateness import Late, join_lags
from spark_sink.operators.join_sides import Ways, ways_out
from spark_sink.operators.operator import Times

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from spark_sink.dataframes import Frames


def leaving(frames: Frames, rows: DataFrame) -> DataFrame:
    """The rows of a join, both sides beside each other, that leave it."""
    if not frames.lets_go:
        return rows
    # `least` leaves NULL out: the side that is not there
    return frames.leaving(rows.withColumn(EVENT_TIME, F.least("l_until", "r_until")))


def begins(node: Join, inputs: Sequence[Late], base_ns: int) -> int:
    """The least base time of rows that go into what has not left, or is not over above, at one.

    Every relation of times says so, and that which says most is taken; NONE where none does.
    """
    lags = join_lags(node, inputs)
    if lags is None:
        return NONE
    since = [
        max(NONE, base_ns - _lag(columns, late) - late.spread)
        for columns, late in zip(lags, inputs, strict=True)
    ]
    ways = ways_out(node, times_of(node, inputs))
    return max(_begins_by(node, way, since, base_ns) for way in ways)


def times_of(node: Join, inputs: Sequence[Late]) -> Times:
    """What the columns of its inputs are of base time, by input."""
    return {each.name: late.times for each, late in zip(node.inputs, inputs, strict=True)}


def _lag(lags: Sequence[int], late: Late) -> int:
    """How far behind its time in the output a time of a side may be."""
    return max((lag for lag, ways in zip(lags, late.times, strict=True) if ways), default=0)


def _begins_by(node: Join, way: Ways, since: Sequence[int], base_ns: int) -> int:
    return min(_side_begins(node, way, port, since[port], base_ns) for port in (0, 1))


def _side_begins(node: Join, way: Ways, port: int, since_ns: int, base_ns: int) -> int:
    """Of a side's rows that are needed, and of all that are as near to one as a match would be."""
    own, others = way.sides[port], way.sides[1 - port]
    reach = node.pairs[way.pair].reach
    least = min(f.forward(since_ns) for f in own)
    least = min(least, *(f.forward(base_ns) - max(0, reach[port]) for f in others))
    near = max(NONE, least - reach[1 - port])
    return min(*(f.inverse(max(NONE, least)) for f in own), *(f.inverse(near) for f in others))
