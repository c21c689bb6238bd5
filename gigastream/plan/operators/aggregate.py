# SPDX-License-Identifier: Apache-2.0
"""Aggregation above the border: over rows, or completing partial groups."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar

from gigastream.gsql.expressions import AggregateRef, Expression, FunctionCall, walk
from gigastream.gsql.order.exact import exact_range, window_range
from gigastream.gsql.order.inference import Monotone, monotone
from gigastream.gsql.order.ranges import Known, Range
from gigastream.gsql.queries import CheckedQuery, GroupVariable, OutputColumn
from gigastream.gsql.types import Order, Schema, Type
from gigastream.late_dataclass import dataclass, field, replace
from gigastream.plan.accumulators import Accumulator, Final
from gigastream.plan.base_time import BaseTimes, through
from gigastream.plan.builders import column_of
from gigastream.plan.costs import columns_of
from gigastream.plan.describe.aggregates import completed, kept
from gigastream.plan.describe.clauses import group_with_progress, predicate_texts
from gigastream.plan.evaluated import Evaluated, arguments, columns, conditions
from gigastream.plan.nodes import Awaited, Detail, Node, OneInputNode, Quantities, calls_in
from gigastream.plan.text import expression_text

if TYPE_CHECKING:
    from gigastream.plan.plan import Plan
    from gigastream.plan.python_calls import CalledRows


@dataclass(frozen=True, slots=True, kw_only=True)
class Aggregate(OneInputNode):
    """Aggregation high: over rows, or completing the partial groups of a PartialAggregate."""

    title: ClassVar[str] = "aggregation"
    sorts_in_order: ClassVar[bool] = True

    merges_partials: bool
    predicates: tuple[Expression, ...]
    groups: tuple[GroupVariable, ...]
    """Over the input's columns."""
    accumulators: tuple[Accumulator, ...]
    finals: tuple[Final, ...]
    """One for each aggregate of the query."""
    having: Expression | None
    outputs: tuple[OutputColumn, ...]
    """Over GroupRef and AggregateRef."""
    why_high: str = field(default="", compare=False)
    """Over packets: what kept it from beginning below the border."""

    @property
    def undivided(self) -> str | None:
        """Of partial groups floats are asked about where these are made."""
        of_floats = any(group.expression.type is Type.FLOAT for group in self.groups)
        if of_floats or any(a.looks_at_order for a in self.row_accumulators):
            return self.in_their_order
        return None

    @property
    def is_of_parts(self) -> bool:
        """Its groups are those of the partial ones that it completes."""
        return self.merges_partials

    @property
    def is_of_all(self) -> bool:
        """Without GROUP BY: one group of all rows, which is there where no row comes too."""
        return not self.groups

    @property
    def may_be_of_nothing(self) -> bool:
        """Whether a group is put out that no row of the window is in."""
        return self.is_of_all

    @property
    def temporal_groups(self) -> tuple[int, ...]:
        """Indices of the group variables that make the window."""
        return tuple(i for i, g in enumerate(self.groups) if g.expression.temporal.is_temporal)

    @property
    def row_accumulators(self) -> tuple[Accumulator, ...]:
        """Those whose arguments are evaluated here: of partial groups they were below."""
        return () if self.merges_partials else self.accumulators

    @property
    def conditions_of_groups(self) -> tuple[Expression, ...]:
        return () if self.having is None else (self.having,)

    @property
    def bounds(self) -> tuple[Monotone | None, ...]:
        """Over the group variables, not over the input's columns."""
        return tuple(map(monotone, self.column_expressions))

    @property
    def bounded(self) -> tuple[Expression, ...]:
        return tuple(group.expression for group in self.groups)

    @property
    def watched(self) -> tuple[Expression, ...]:
        """The window's variables; a PartialAggregate announces its own."""
        windows = () if self.merges_partials else self.temporal_groups
        return tuple(self.groups[index].expression for index in windows)

    def together(self, columns: frozenset[int]) -> frozenset[int]:
        """A window of several times, or of the greater of two, is passed by a joint bound."""
        functions = (monotone(expression) for expression in self.watched)
        return frozenset(item.index for f in functions if f is not None for item in f.inputs)

    def base_times(self, inputs: Sequence[BaseTimes]) -> BaseTimes:
        return through(self.bounds, [self.group_times(inputs)])

    def group_times(self, inputs: Sequence[BaseTimes]) -> BaseTimes:
        """The group variables as functions of base time, of the input's columns."""
        return through((monotone(group.expression) for group in self.groups), inputs)

    def exact_ranges(self, inputs: Sequence[Known]) -> tuple[Range | None, ...]:
        groups = self.group_ranges(inputs)
        return tuple(exact_range(e, groups) for e in self.column_expressions)

    def group_ranges(self, inputs: Sequence[Known]) -> tuple[Range | None, ...]:
        (columns,) = inputs
        return tuple(window_range(group.expression, columns) for group in self.groups)

    def awaited(self, inputs: Sequence[BaseTimes]) -> tuple[Awaited, ...]:
        times = self.group_times(inputs)
        spans = {at: self.groups[at].expression.span for at in self.temporal_groups}
        return tuple(Awaited(span.text, span, times[at]) for at, span in spans.items())

    @property
    def column_expressions(self) -> tuple[Expression, ...]:
        return tuple(output.expression for output in self.outputs)

    @property
    def evaluated(self) -> Iterator[Evaluated]:
        yield from self._evaluated(self.accumulators)

    def _evaluated(self, accumulators: Sequence[Accumulator]) -> Iterator[Evaluated]:
        yield from conditions(self.predicates)
        yield from columns((*self.groups, *self.outputs))
        yield from arguments(accumulators)
        yield from conditions(self.conditions_of_groups)

    def columns_read(self, port: int) -> frozenset[int]:
        if self.merges_partials:
            return Node.columns_read(self, port)
        return columns_of(*(expression for expression, _ in self.evaluated), port=port)

    @property
    def calls(self) -> Iterator[FunctionCall]:
        for expression, _ in self._evaluated(self.row_accumulators):
            yield from calls_in(expression)
        for accumulator in self.accumulators:
            yield from accumulator.functions
        for final in self.finals:
            yield from final.functions

    def quantities(self, inputs: Sequence[Quantities]) -> Quantities:
        made = zip(self.schema.columns, self.column_expressions, strict=True)
        return tuple(column.type.is_numeric and _is_aggregated(of) for column, of in made)

    def over_called(self, rows: CalledRows) -> Node:
        rows.where(self.predicates)
        rows.call([g.expression for g in self.groups])
        rows.call([e for a in self.row_accumulators for e in a.expressions])
        groups = tuple(replace(g, expression=rows.place(g.expression)) for g in self.groups)
        made = self.accumulators
        if not self.merges_partials:
            made = tuple(a.placed(rows.place) for a in made)
        return rows.over_groups(
            replace(
                self, input=rows.rows, predicates=rows.waiting, groups=groups, accumulators=made
            )
        )

    def details(self, plan: Plan) -> Iterator[Detail]:
        yield "high for", (self.why_high,) if self.why_high else ()
        yield "where", predicate_texts(self.predicates)
        yield "groups", self.group_texts
        yield "keeps", kept(self.groups, self.row_accumulators)
        yield "completes" if self.merges_partials else "makes", completed(self)
        yield "having", () if self.having is None else (expression_text(self.having),)

    @property
    def group_texts(self) -> tuple[str, ...]:
        """The group variables for explain, with what passes those that are windows."""
        return tuple(map(group_with_progress, self.groups))


def _is_aggregated(expression: Expression) -> bool:
    return any(isinstance(part, AggregateRef) for part in walk(expression))


def aggregate_node(
    query: CheckedQuery,
    stream: Node,
    predicates: tuple[Expression, ...],
    groups: tuple[GroupVariable, ...],
    accumulators: tuple[Accumulator, ...],
    finals: tuple[Final, ...],
    outputs: tuple[OutputColumn, ...],
    *,
    merges_partials: bool,
) -> Aggregate:
    """The high aggregation of a query; `groups` and `accumulators` are over `stream`."""
    temporal = [group for group in groups if group.expression.temporal.is_temporal]
    order = Order.ORDERED if len(temporal) == 1 else Order.PROGRESSING
    schema = Schema(tuple(map(column_of, outputs)))
    return Aggregate(
        name=query.name,
        schema=schema,
        order=tuple(order if c.temporal.is_temporal else None for c in schema.columns),
        input=stream,
        merges_partials=merges_partials,
        predicates=predicates,
        groups=groups,
        accumulators=accumulators,
        finals=finals,
        having=query.having,
        outputs=outputs,
    )
