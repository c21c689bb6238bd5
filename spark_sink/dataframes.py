# SPDX-License-Identifier: Apache-2.0
"""The high level of a plan as Spark DataFrames, batch or streaming.

Each node becomes DataFrame operations over those of its inputs. Columns go by position inside
(c0, c1, …), since two streams may use one name, and names of GSQL are not Spark's; an output has
the query's names. Types are those inside (spark_types.py). A row whose expression has no value is
dropped where the engine drops it (GSQL section 3).

Progress comes from the source's hidden column alone: it has the only watermark, and the rows that
carried it are filtered out right behind it, by a condition that the optimizer cannot move below.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F

from gigastream.gsql.expressions import AggregateRef, ColumnRef, Expression, GroupRef, walk
from gigastream.gsql.types import Type
from gigastream.plan.base_time import Alternatives, BaseTimes, base_times
from gigastream.plan.nodes import Node
from gigastream.plan.operators.aggregate import Aggregate
from gigastream.plan.operators.low_node import LowNode
from gigastream.plan.operators.order_limit import OrderLimit
from gigastream.plan.operators.output import Output
from gigastream.plan.operators.select import Select
from gigastream.plan.operators.union import Union
from gigastream.plan.plan import Plan
from spark_sink.aggregates import KINDS_OF_BITS, accumulator_column, final_value
from spark_sink.event_time import COLUMN as EVENT_TIME
from spark_sink.event_time import event_time
from spark_sink.expressions import Value, column
from spark_sink.ordering import sorted_rows
from spark_sink.spark_types import unsigned

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

HEARTBEAT = "_hb"
BARRIER = f"{HEARTBEAT} is null and spark_partition_id() >= 0"
"""The partition's number makes it nondeterministic: it stays above the watermark."""
Read = Callable[[LowNode, tuple[str, ...]], "DataFrame"]
"""Gives columns of a stream of the low level, in order, behind the heartbeat's: timestamps in
nanoseconds, an ullong as its bits (the source's options say so)."""


def dataframe(plan: Plan, output: Output, read: Read) -> DataFrame:
    """The rows of an output, in types from inside, under the query's column names."""
    frames = Frames(plan, read).of(output.input)
    return frames.toDF(*(column.name for column in output.schema.columns))


class Frames:
    """The DataFrames of a plan's nodes; each stream from below is one source."""

    def __init__(self, plan: Plan, read: Read) -> None:
        self._plan = plan
        self._read = read
        self._times = base_times(plan)
        self._merged_bits = _merged_bits(plan)
        self._streams: dict[str, DataFrame] = {}

    def of(self, node: Node) -> DataFrame:
        """The DataFrame of a node, another one for each of its consumers.

        Of two equal subtrees Spark would reuse one's exchange for the other, below which it then
        finds no watermark: its groups would never be over. Watermarks of their own keep them apart.
        """
        return _BUILDERS[_kind(node)](self, node)

    def _low(self, node: LowNode) -> DataFrame:
        """A stream from below, whose heartbeats have moved the watermark and are gone."""
        places = columns_read(self._plan, node)
        names = tuple(node.schema.columns[place].name for place in places)
        if node.name not in self._streams:
            self._streams[node.name] = self._read(node, names)
        beating = self._streams[node.name].withWatermark(HEARTBEAT, "0 seconds")
        stream = beating.where(BARRIER)
        rows = stream.drop(HEARTBEAT).toDF(*(f"c{place}" for place in places))
        merged = self._merged_bits.get(node.name, frozenset())
        return rows.select(*(_inside(rows, node, place, merged) for place in places))

    def _select(self, node: Select) -> DataFrame:
        rows = self.of(node.input)
        outputs = [_over_columns(rows, output.expression) for output in node.outputs]
        predicates = [_over_columns(rows, predicate) for predicate in node.predicates]
        return _kept(rows, predicates, outputs).select(*_numbered(outputs))

    def _union(self, node: Union) -> DataFrame:
        return reduce(lambda a, b: a.unionAll(b), map(self.of, node.parts))

    def _aggregate(self, node: Aggregate) -> DataFrame:
        rows = self._keyed(node)
        keys = [rows[f"g{index}"] for index in range(len(node.groups))]
        totals = [
            accumulator_column(a, _arguments(rows, i), partial=node.merges_partials)
            for i, a in enumerate(node.accumulators)
        ]
        # an aggregation without accumulators (DISTINCT) counts, and nobody looks
        named = [total.alias(f"a{index}") for index, total in enumerate(totals)]
        grouped = rows.groupBy(rows[EVENT_TIME], *keys)
        if node.is_of_all and not rows.isStreaming:
            grouped = rows.groupBy()  # a row of nothing too; a stream has groups of rows alone
        return _finished(node, grouped.agg(*(named or [_count()])))

    def _keyed(self, node: Aggregate) -> DataFrame:
        """Event time, group variables, and what the accumulators read."""
        rows = self.of(node.input)
        groups = [_over_columns(rows, group.expression) for group in node.groups]
        groups = [_held(v, g.expression) for v, g in zip(groups, node.groups, strict=True)]
        arguments = [_accumulated(rows, index, node) for index in range(len(node.accumulators))]
        predicates = [_over_columns(rows, predicate) for predicate in node.predicates]
        read = [value for values in arguments for value in values]
        kept = _kept(rows, predicates, [*groups, *read])
        named = [value.column.alias(f"g{index}") for index, value in enumerate(groups)]
        named += [
            value.column.alias(f"x{index}_{part}")
            for index, values in enumerate(arguments)
            for part, value in enumerate(values)
        ]
        ends = event_time(
            _temporal_values(node, groups, node.group_times(self._times[node.input.name]))
        )
        return kept.select(ends, *named)

    def _order(self, node: OrderLimit) -> DataFrame:
        rows, times = self.of(node.input), self._times[node.input.name]
        windows = [(rows[f"c{index}"].cast("bigint"), times[index]) for index in node.windows]
        return sorted_rows(node, rows, event_time(windows))


_BUILDERS: dict[type[Node], Callable[[Frames, Any], DataFrame]] = {
    LowNode: Frames._low,
    Select: Frames._select,
    Union: Frames._union,
    Aggregate: Frames._aggregate,
    OrderLimit: Frames._order,
}


def _kind(node: Node) -> type[Node]:
    return LowNode if isinstance(node, LowNode) else type(node)


def _inside(rows: DataFrame, node: LowNode, place: int, merged: frozenset[int]) -> Column:
    """A column of a stream: an ullong is a decimal but where its bits are merged."""
    column = rows[f"c{place}"]
    if node.schema.columns[place].type is not Type.ULLONG or place in merged:
        return column
    return unsigned(column).alias(f"c{place}")


def _merged_bits(plan: Plan) -> dict[str, frozenset[int]]:
    """The columns of partial rows that are added up as bits, by stream."""
    found: dict[str, frozenset[int]] = {}
    for node in plan.nodes:
        if isinstance(node, Aggregate) and node.merges_partials:
            parts = node.input.parts if isinstance(node.input, Union) else (node.input,)
            found.update((part.name, _places_of_bits(node)) for part in parts)
    return found


def _places_of_bits(node: Aggregate) -> frozenset[int]:
    kinds = zip(node.accumulators, partial_places(node), strict=True)
    return frozenset(p for a, places in kinds for p in places if a.kind in KINDS_OF_BITS)


def _numbered(values: Sequence[Value]) -> list[Column]:
    return [value.column.alias(f"c{index}") for index, value in enumerate(values)]


def _over_columns(rows: DataFrame, expression: Expression) -> Value:
    """An expression over the columns of a stream."""

    def leaf(e: Expression) -> Value:
        assert isinstance(e, ColumnRef)
        return Value(rows[f"c{e.index}"], None)

    return column(expression, leaf)


def _kept(rows: DataFrame, predicates: Sequence[Value], values: Sequence[Value]) -> DataFrame:
    """The rows that pass, and for which everything that is computed has a value."""
    for predicate in predicates:
        rows = rows.where(F.coalesce(predicate.column, F.lit(False)))
    valid = [v.valid for v in (*predicates, *values) if v.valid is not None]
    return rows.where(reduce(lambda a, b: a & b, valid)) if valid else rows


# Aggregation


def _accumulated(rows: DataFrame, index: int, node: Aggregate) -> list[Value]:
    """What an accumulator reads of a row: the columns of a partial row, or its expressions."""
    accumulator = node.accumulators[index]
    if not node.merges_partials:
        return [_over_columns(rows, e) for e in accumulator.expressions]
    return [Value(rows[f"c{place}"], None) for place in partial_places(node)[index]]


def partial_places(node: Aggregate) -> list[range]:
    """The columns of each accumulator in a partial row, behind those of the group variables."""
    from gigastream.plan.accumulators import KINDS

    places, first = [], len(node.groups)
    for accumulator in node.accumulators:
        width = len(KINDS[accumulator.kind].columns)
        places.append(range(first, first + width))
        first += width
    return places


def _arguments(rows: DataFrame, index: int) -> list[Column]:
    prefix = f"x{index}_"
    return [rows[name] for name in rows.columns if name.startswith(prefix)]


def _temporal_values(
    node: Aggregate, groups: Sequence[Value], times: BaseTimes
) -> list[tuple[Column, Alternatives]]:
    return [(groups[index].column.cast("bigint"), times[index]) for index in node.temporal_groups]


def _held(value: Value, expression: Expression) -> Value:
    """A temporal value that no bound can reach is no value, as in the engine."""
    if not (expression.temporal.is_temporal and expression.type is Type.ULLONG):
        return value
    fits = value.column < F.lit(str(1 << 63)).cast("decimal(20,0)")
    return Value(value.column, fits if value.valid is None else value.valid & fits)


def _finished(node: Aggregate, groups: DataFrame) -> DataFrame:
    """Groups that are over: finals, HAVING, the SELECT list."""
    accumulators = [groups[f"a{index}"] for index in range(len(node.accumulators))]
    finals = [final_value(final, node.accumulators, accumulators) for final in node.finals]

    def leaf(e: Expression) -> Value:
        if isinstance(e, AggregateRef):
            return Value(finals[e.index].column, None)
        assert isinstance(e, GroupRef)
        return Value(groups[f"g{e.index}"], None)

    having = [] if node.having is None else [column(node.having, leaf)]
    outputs = [column(output.expression, leaf) for output in node.outputs]
    return _kept(groups, having, [*finals, *outputs]).select(*_numbered(outputs))


def _count() -> Column:
    return F.count(F.lit(1)).alias("rows")


def columns_read(plan: Plan, low: LowNode) -> list[int]:
    """The columns of a stream that its consumers read."""
    consumers = [node for node in plan.nodes if any(child is low for child in node.inputs)]
    return sorted({i for node in consumers for i in _read_by(node, len(low.schema.columns))})


def _read_by(node: Node, count: int) -> set[int]:
    if isinstance(node, Select):
        expressions = [*node.predicates, *(output.expression for output in node.outputs)]
    elif isinstance(node, Aggregate) and not node.merges_partials:
        expressions = [*node.predicates, *(group.expression for group in node.groups)]
        expressions += [e for a in node.accumulators for e in a.expressions]
    else:
        return set(range(count))
    return {e.index for root in expressions for e in walk(root) if isinstance(e, ColumnRef)}
