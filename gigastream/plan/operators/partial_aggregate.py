# SPDX-License-Identifier: Apache-2.0
"""Sub-aggregation below the border, in a direct-mapped table of fixed size."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar

from gigastream.gsql.expressions import Expression
from gigastream.gsql.order.exact import window_range
from gigastream.gsql.order.inference import Monotone
from gigastream.gsql.order.ranges import Known, Range
from gigastream.gsql.queries import GroupVariable
from gigastream.gsql.types import Type
from gigastream.late_dataclass import dataclass
from gigastream.plan.accumulators import Accumulator, expression_key
from gigastream.plan.base_time import BaseTimes
from gigastream.plan.costs import is_total_and_cheap, makes_strings
from gigastream.plan.describe.aggregates import kept, kept_columns
from gigastream.plan.describe.clauses import group_text
from gigastream.plan.describe.low import packet_details, reader_details
from gigastream.plan.describe.table import flush_text, slots_text
from gigastream.plan.evaluated import Evaluated, arguments, columns, conditions
from gigastream.plan.nodes import Awaited, Detail
from gigastream.plan.operators.low_node import LowNode, over_timestamp, row_column_of
from gigastream.plan.text import expression_text

if TYPE_CHECKING:
    from gigastream.plan.plan import Plan


def _is_plain(accumulator: Accumulator) -> bool:
    if accumulator.functions or accumulator.keeps_values:
        return False
    return all(is_total_and_cheap(e) for e in accumulator.expressions)


@dataclass(frozen=True, slots=True, kw_only=True)
class PartialAggregate(LowNode):
    """Partial groups, which an Aggregate completes above the border."""

    title: ClassVar[str] = "partial aggregation LFTA"

    groups: tuple[GroupVariable, ...]
    accumulators: tuple[Accumulator, ...]

    @property
    def table_key(self) -> object:
        """The order of the groups says nothing, but that of the temporal ones, which are compared.

        What is kept of a packet must be there for every packet, of a fixed size and no function's.
        Groups that make strings share the memory of these with WHERE, which here is of several.
        """
        groups = [group.expression for group in self.groups]
        is_plain = all(map(_is_plain, self.accumulators))
        is_wide = any(e.type.is_wide or makes_strings(e) for e in groups)
        if not is_plain or is_wide or self.filter is not None or self.row_column is not None:
            return None
        temporal = tuple(expression_key(e) for e in groups if e.temporal.is_temporal)
        others = sorted(repr(expression_key(e)) for e in groups if not e.temporal.is_temporal)
        return temporal, tuple(others), self.options.of_table

    @property
    def has_wide_rows(self) -> bool:
        """Whether what is kept of a packet is large, or lies in the scratch until the next one."""
        kept = [group.expression for group in self.groups]
        kept += [e for a in self.accumulators for e in a.expressions]
        return any(e.type.is_wide for e in kept)

    @property
    def has_few_rows(self) -> bool:
        return all(g.expression.temporal.is_temporal for g in self.groups)

    @property
    def deals_rows(self) -> bool:
        is_plain = self.filter is None and self.row_column is None
        return not self.has_few_rows and is_plain and not self.has_wide_rows

    @property
    def is_of_parts(self) -> bool:
        return self.deals_rows

    @property
    def undivided(self) -> str | None:
        if self.options.lfta_aggregation:
            return f"{self.name} shows partial groups, of which several tables have more"
        if any(accumulator.functions for accumulator in self.accumulators):
            return f"{self.name} has an aggregate in C, which may tell in which order it is fed"
        kept = [accumulator.type for accumulator in self.accumulators]
        if Type.FLOAT in kept or any(g.expression.type is Type.FLOAT for g in self.groups):
            return f"{self.name} keeps floats: of 0.0 and -0.0, which are equal, the first stays"
        return self.undivided_packets

    @property
    def bounds(self) -> tuple[Monotone | None, ...]:
        groups = tuple(over_timestamp(group.expression) for group in self.groups)
        return groups + (None,) * (len(self.schema.columns) - len(groups))

    @property
    def bounded(self) -> tuple[Expression, ...]:
        return tuple(group.expression for group in self.groups)

    def exact_ranges(self, inputs: Sequence[Known]) -> tuple[Range | None, ...]:
        groups = tuple(window_range(group.expression) for group in self.groups)
        return groups + (None,) * (len(self.schema.columns) - len(groups))

    @property
    def row_column(self) -> int | None:
        return row_column_of(group.expression for group in self.groups)

    @property
    def own_needs(self) -> tuple[Monotone, ...]:
        return tuple(function for function in self.bounds if function)

    def awaited(self, inputs: Sequence[BaseTimes]) -> tuple[Awaited, ...]:
        """Some or all of them alone are an answer, too (DEFINE lfta_aggregation)."""
        functions = zip(self.groups, self.bounds, strict=False)
        temporal = [
            (g.expression.span, f) for g, f in functions if g.expression.temporal.is_temporal
        ]
        return tuple(Awaited(span.text, span, () if f is None else (f,)) for span, f in temporal)

    @property
    def evaluated(self) -> Iterator[Evaluated]:
        yield from self.of_filter
        yield from conditions(self.predicates)
        yield from columns(self.groups)
        yield from arguments(self.accumulators)

    def details(self, plan: Plan) -> Iterator[Detail]:
        yield from packet_details(self, plan)
        yield "groups", tuple(map(group_text, self.groups))
        yield "keeps", kept(self.groups, self.accumulators)
        yield "table", (slots_text(self.options), *self._shared_text())
        yield "flush", (flush_text(self.options),)
        yield from reader_details(self, plan)

    def _shared_text(self) -> tuple[str, ...]:
        others = [name for name in self.table_of if name != self.name]
        names = ", ".join(others)
        return (f"one with {names}: the groups are the same",) if others else ()

    @property
    def made_of(self) -> tuple[str, ...]:
        groups = (expression_text(group.expression) for group in self.groups)
        return (*groups, *(text for a in self.accumulators for text in kept_columns(a)))
