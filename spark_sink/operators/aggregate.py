# SPDX-License-Identifier: Apache-2.0
"""Aggregation above the border on Spark: groups by event time, over rows or partial groups."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from pyspark.sql import functions as F

from gigastream.gsql.diagnostics import Diagnostic
from gigastream.gsql.expressions import AggregateRef, Expression, GroupRef
from gigastream.plan.accumulators import KINDS, UserAccumulator, UserFinal, accumulator_names
from gigastream.plan.base_time import Alternatives, BaseTimes
from gigastream.plan.describe.aggregates import accumulator_text
from gigastream.plan.operators.aggregate import Aggregate
from gigastream.plan.text import expression_text
from spark_sink.aggregates import KINDS_OF_BITS, Columns, accumulator_column, final_value
from spark_sink.event_time import COLUMN as EVENT_TIME
from spark_sink.event_time import has_event_time
from spark_sink.event_time_text import end_text, why_no_event_time
from spark_sink.expressions import Value, column
from spark_sink.lateness import Late
from spark_sink.operators.operator import Lines, SparkOperator, Times
from spark_sink.operators.passing import begins_with, closes_by
from spark_sink.operators.refusal import refused
from spark_sink.operators.rows import kept, numbered, of_bounds, outputs_text, over_columns
from spark_sink.user_states import UserStates, has_user_states, why_no_states

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from gigastream.plan import Plan
    from spark_sink.dataframes import Frames


A = TypeVar("A", bound=Aggregate)


class AggregateOnSpark(SparkOperator[A]):
    """A group leaves once the watermark has passed the end of its window."""

    waits = True
    behind_state = ("having", "outputs", "finals", "bounds", "schema", "order")

    def frame(self, frames: Frames, node: A) -> DataFrame:
        states = UserStates(node) if has_user_states(node) else None
        keyed = self._windowed(node, _keyed(frames, node, states))
        rows = frames.in_time(keyed, _temporal_values(frames, node, keyed))
        keys = [rows[f"g{index}"] for index in range(len(node.groups))]
        totals = [
            _total(node, i, _arguments(rows, i), states) for i in range(len(node.accumulators))
        ]
        # an aggregation without accumulators (DISTINCT) counts, and nobody looks
        named = [total.alias(f"a{index}") for index, total in enumerate(totals)]
        # of no keys a batch has a row of nothing too; a stream has groups of rows alone
        ends = [rows[EVENT_TIME]] if rows.isStreaming else []
        groups = rows.groupBy(*ends, *keys).agg(*(named or [_count()]))
        return _finished(node, groups, states)

    def _windowed(self, _node: A, keyed: DataFrame) -> DataFrame:
        """The rows, once for each window that they are in."""
        return keyed

    def lines(self, plan: Plan, node: A, times: Times) -> Lines:
        for predicate in node.predicates:
            yield "where", expression_text(predicate)
        yield "groupBy", ", ".join(group.name for group in node.groups) or "nothing"
        yield from _end_lines(node, node.group_times([times[node.input.name]]))
        names = accumulator_names(node.groups, node.accumulators)
        for name, accumulator in zip(names, node.accumulators, strict=True):
            what = f"partial {name}" if node.merges_partials else "rows"
            yield "agg", f"{accumulator_text(accumulator)} of {what}"
        if node.having is not None:
            yield "having", expression_text(node.having)
        yield "select", outputs_text(node.outputs)

    def expressions(self, node: A) -> Iterator[Expression]:
        yield from node.predicates
        yield from node.column_expressions
        yield from node.conditions_of_groups
        yield from (group.expression for group in node.groups)
        for accumulator in node.row_accumulators:
            yield from accumulator.expressions

    def refusals(self, node: A) -> Iterator[Diagnostic]:
        for part in why_no_states(node):
            yield refused(*part)

    def stream_refusals(self, node: A, times: Times) -> Iterator[Diagnostic]:
        groups = node.group_times([times[node.input.name]])
        for index in node.temporal_groups:
            if not has_event_time(groups[index]):
                group = node.groups[index]
                reason = why_no_event_time(groups[index])
                message = f"Spark cannot tell when {group.name} is over: {reason}"
                yield refused(message, group.expression.span)

    def begins(self, node: A, inputs: Sequence[Late], base_ns: int) -> int:
        return begins_with(_temporal_times(node, inputs), base_ns)

    def closes(self, node: A, inputs: Sequence[Late], after_ns: int, until_ns: int) -> bool:
        return closes_by(_temporal_times(node, inputs), after_ns, until_ns)

    def columns_of_bits(self, node: A) -> Mapping[str, frozenset[int]]:
        """The columns of partial rows that are added up as bits."""
        if not node.merges_partials:
            return {}
        found: dict[str, frozenset[int]] = {}
        for place in _places_of_bits(node):
            for stream, own in node.input.origins(place):
                found[stream] = found.get(stream, frozenset()) | {own}
        return found


def _total(node: Aggregate, index: int, columns: Columns, states: UserStates | None) -> Column:
    accumulator = node.accumulators[index]
    if states is not None and isinstance(accumulator, UserAccumulator):
        return states.state(index, columns)
    return accumulator_column(accumulator, columns, partial=node.merges_partials)


def _keyed(frames: Frames, node: Aggregate, states: UserStates | None) -> DataFrame:
    """Group variables, and what the accumulators read."""
    rows = frames.of(node.input)
    groups = [over_columns(group.expression, rows) for group in node.groups]
    groups = [of_bounds(v, g.expression) for v, g in zip(groups, node.groups, strict=True)]
    arguments = [_accumulated(rows, index, node, states) for index in range(len(node.accumulators))]
    predicates = [over_columns(predicate, rows) for predicate in node.predicates]
    read = [value for values in arguments for value in values]
    passed = kept(rows, predicates, [*groups, *read])
    named = [value.column.alias(f"g{index}") for index, value in enumerate(groups)]
    named += [
        value.column.alias(f"x{index}_{part}")
        for index, values in enumerate(arguments)
        for part, value in enumerate(values)
    ]
    return passed.select(*named)


def _accumulated(
    rows: DataFrame, index: int, node: Aggregate, states: UserStates | None
) -> list[Value]:
    """What an accumulator reads of a row: the columns of a partial row, or its expressions.

    A state that is none, of a spool that somebody else has written, has no value.
    """
    accumulator = node.accumulators[index]
    if not node.merges_partials:
        return [over_columns(e, rows) for e in accumulator.expressions]
    if states is not None and isinstance(accumulator, UserAccumulator):
        state = rows[f"c{_partial_places(node)[index].start}"]
        return [Value(state, state.isNull() | states.valid(index, state))]
    return [Value(rows[f"c{place}"], None) for place in _partial_places(node)[index]]


def _partial_places(node: Aggregate) -> list[range]:
    """The columns of each accumulator in a partial row, behind those of the group variables."""
    places, first = [], len(node.groups)
    for accumulator in node.accumulators:
        width = len(KINDS[accumulator.kind].columns)
        places.append(range(first, first + width))
        first += width
    return places


def _arguments(rows: DataFrame, index: int) -> list[Column]:
    prefix = f"x{index}_"
    return [rows[name] for name in rows.columns if name.startswith(prefix)]


def _temporal_times(node: Aggregate, inputs: Sequence[Late]) -> list[Alternatives]:
    """What its temporal group variables are of base time."""
    found = node.group_times([late.times for late in inputs])
    return [found[index] for index in node.temporal_groups]


def _temporal_values(
    frames: Frames, node: Aggregate, keyed: DataFrame
) -> list[tuple[Column, Alternatives]]:
    times = node.group_times([frames.times[node.input.name]])
    return [(keyed[f"g{at}"].cast("bigint"), times[at]) for at in node.temporal_groups]


def _finished(node: Aggregate, groups: DataFrame, states: UserStates | None) -> DataFrame:
    """Groups that are over: finals, HAVING, the SELECT list."""
    accumulators = [groups[f"a{index}"] for index in range(len(node.accumulators))]
    finals = [
        states.value(index, accumulators[final.accumulators[0]])
        if states is not None and isinstance(final, UserFinal)
        else final_value(final, node.accumulators, accumulators)
        for index, final in enumerate(node.finals)
    ]

    def leaf(e: Expression) -> Value:
        if isinstance(e, AggregateRef):
            return Value(finals[e.index].column, None)
        assert isinstance(e, GroupRef)
        return Value(groups[f"g{e.index}"], None)

    having = [] if node.having is None else [column(node.having, leaf)]
    outputs = [column(output.expression, leaf) for output in node.outputs]
    return kept(groups, having, [*finals, *outputs]).select(*numbered(outputs))


def _count() -> Column:
    return F.count(F.lit(1)).alias("rows")


def _places_of_bits(node: Aggregate) -> frozenset[int]:
    kinds = zip(node.accumulators, _partial_places(node), strict=True)
    return frozenset(p for a, places in kinds for p in places if a.kind in KINDS_OF_BITS)


def _end_lines(node: Aggregate, times: BaseTimes) -> Lines:
    for index in node.temporal_groups:
        yield "event time", end_text(node.groups[index].name, times[index])
    if not node.temporal_groups:
        yield "event time", "the end of the stream"
