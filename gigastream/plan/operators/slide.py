# SPDX-License-Identifier: Apache-2.0
"""Aggregation over windows that overlap: rows into panes, complete panes into windows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar

from gigastream.gsql.expressions import Constant, Expression, Operation
from gigastream.gsql.order.inference import monotone
from gigastream.gsql.order.ranges import Known, Range, limits_of
from gigastream.gsql.queries import GroupVariable
from gigastream.gsql.types import Temporal, Type
from gigastream.late_dataclass import dataclass, replace
from gigastream.plan.base_time import BaseTimes, through
from gigastream.plan.describe.clauses import group_with_progress, named
from gigastream.plan.nodes import Detail
from gigastream.plan.operators.aggregate import Aggregate
from gigastream.plan.text import progress_text
from gigastream.words import counted

if TYPE_CHECKING:
    from gigastream.plan.plan import Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class Slide(Aggregate):
    """An aggregation whose first group variable is the pane; in `outputs` it is the window."""

    title: ClassVar[str] = "sliding aggregation"

    range: int
    """Panes of a window."""
    slide: int
    """Panes from a window to the next."""

    @property
    def window_groups(self) -> tuple[GroupVariable, ...]:
        """The group variables with the first window of a row in the place of its pane."""
        pane, *others = self.groups
        return (replace(pane, expression=_quotient(pane.expression, self.slide)), *others)

    @property
    def watched(self) -> tuple[Expression, ...]:
        windows = () if self.merges_partials else self.temporal_groups
        return tuple(self.window_groups[index].expression for index in windows)

    def group_times(self, inputs: Sequence[BaseTimes]) -> BaseTimes:
        return through((monotone(group.expression) for group in self.window_groups), inputs)

    def group_ranges(self, inputs: Sequence[Known]) -> tuple[Range | None, ...]:
        """A window may be as far behind its first pane as it is long."""
        _, *others = Aggregate.group_ranges(self, inputs)
        return (limits_of(self.groups[0].expression.type), *others)

    def details(self, plan: Plan) -> Iterator[Detail]:
        yield from Aggregate.details(self, plan)
        panes = f"{counted(self.range, 'pane')}, a new one each {counted(self.slide, 'pane')}"
        wid = self.window_groups[0].expression
        yield "windows", (f"wid, each of {panes}: {progress_text(wid)}",)

    @property
    def group_texts(self) -> tuple[str, ...]:
        pane, *others = self.groups
        return named(pane), *map(group_with_progress, others)


def _quotient(pane: Expression, panes: int) -> Expression:
    """The window that a pane is the last of, or the next one: pane / panes, rounded down."""
    if panes == 1:
        return pane
    span = pane.span
    divisor = Constant(type=Type.LLONG, temporal=Temporal.CONSTANT, value=panes, span=span)
    return Operation(
        type=Type.LLONG, temporal=pane.temporal, operator="//", operands=(pane, divisor), span=span
    )
