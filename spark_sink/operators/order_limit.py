# SPDX-License-Identifier: Apache-2.0
"""ORDER BY … LIMIT on Spark: each window's rows as one sorted array, cut and spread again.

A sort of a stream exists in Spark only where all of it is known. A window that is over is: its rows
are gathered under the event time of its end, and leave with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from gigastream.gsql.types import Type
from gigastream.plan.operators.order_limit import OrderLimit
from spark_sink.event_time import COLUMN as EVENT_TIME
from spark_sink.lateness import Late
from spark_sink.operators.operator import Lines, SparkOperator, Times
from spark_sink.operators.passing import begins_with, closes_by

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from gigastream.plan import Plan
    from gigastream.plan.base_time import Alternatives
    from spark_sink.dataframes import Frames

_HEX = "0123456789ABCDEF"
_PAST_HEX = "G"


class OrderLimitOnSpark(SparkOperator[OrderLimit]):
    """Its input's groups carry the window, so that the rows can be gathered under its end."""

    waits = True

    def frame(self, frames: Frames, node: OrderLimit) -> DataFrame:
        rows, times = frames.of(node.input), frames.times[node.input.name]
        windows = [(rows[f"c{index}"].cast("bigint"), times[index]) for index in node.windows]
        return _sorted_rows(node, _keyed(node, frames.in_time(rows, windows)))

    def begins(self, node: OrderLimit, inputs: Sequence[Late], base_ns: int) -> int:
        return begins_with(_window_times(node, inputs), base_ns)

    def closes(
        self, node: OrderLimit, inputs: Sequence[Late], after_ns: int, until_ns: int
    ) -> bool:
        return closes_by(_window_times(node, inputs), after_ns, until_ns)

    def lines(self, plan: Plan, node: OrderLimit, times: Times) -> Lines:
        columns = node.input.schema.columns
        windows = ", ".join(columns[index].name for index in node.windows)
        yield "groupBy", windows or "nothing: the stream is one window"
        keys = (columns[index].name + (" DESC" if down else "") for index, down in node.keys)
        yield "sort_array", f"of the window's rows by {', '.join((*keys, 'all columns'))}"
        if node.limit is not None:
            per = ", ".join(columns[index].name for index in node.per)
            yield "slice", f"the first {node.limit:,}" + (f" of each {per}" if per else "")


def _window_times(node: OrderLimit, inputs: Sequence[Late]) -> list[Alternatives]:
    (rows,) = inputs
    return [rows.times[index] for index in node.windows]


def _keyed(node: OrderLimit, rows: DataFrame) -> DataFrame:
    """Each row as one value that sorts, with its window, and in a stream that one's event time."""
    windows = [rows[f"c{index}"].alias(f"w{index}") for index in node.windows]
    per = [rows[f"c{index}"].alias(f"p{index}") for index in node.per]
    keys = [_key(node, rows, *key).alias(f"k{n}") for n, key in enumerate(node.keys)]
    # equal keys: by all columns, so that the answer is one (OPERATORS section 4)
    columns = (rows[f"c{index}"] for index in range(len(node.schema.columns)))
    ends = [rows[EVENT_TIME]] if rows.isStreaming else []
    return rows.select(*ends, *windows, *per, F.struct(*keys, *columns).alias("row"))


def _sorted_rows(node: OrderLimit, keyed: DataFrame) -> DataFrame:
    """The rows of each window in order, cut at the limit; of PER each of its groups before that."""
    windows = [name for name in keyed.columns if name != "row" and not name.startswith("p")]
    limited = _gathered(keyed, [name for name in keyed.columns if name != "row"], node.limit)
    if node.per:
        limited = _gathered(limited, windows, None)
    return limited.select(*(F.col(f"row.c{n}") for n in range(len(node.schema.columns))))


def _gathered(keyed: DataFrame, names: Sequence[str], limit: int | None) -> DataFrame:
    """The rows of each group of these columns in order, as many as the limit lets out."""
    found = F.sort_array(F.collect_list("row"))
    if limit is not None:
        found = F.slice(found, 1, limit)
    groups = keyed.groupBy(*names).agg(found.alias("rows"))
    return groups.select(*names, F.explode("rows").alias("row"))


def _key(node: OrderLimit, rows: DataFrame, index: int, is_descending: bool) -> Column:
    """What sorts upwards as the column is to sort. NULL stands below every value."""
    value = rows[f"c{index}"]
    return _reversed(value, node.input.schema.columns[index].type) if is_descending else value


def _reversed(value: Column, type_: Type) -> Column:
    return F.struct(value.isNull().alias("is_null"), _mirrored(value, type_).alias("value"))


def _mirrored(value: Column, type_: Type) -> Column:
    """A value of another type whose order is the opposite; nothing overflows."""
    if type_ is Type.BOOL:
        return ~value
    if type_ in (Type.ULLONG, Type.FLOAT):
        return -value
    if type_ in (Type.STRING, Type.IPV6, Type.INET) or type_.is_opaque:
        mirror = F.translate(F.hex(value), _HEX, _HEX[::-1])
        return F.concat(mirror, F.lit(_PAST_HEX))
    return F.bitwise_not(value)
