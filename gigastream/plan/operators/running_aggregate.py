# SPDX-License-Identifier: Apache-2.0
"""Running aggregation (GSQL section 6.4): groups go on from window to window, until they close."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import gcd
from typing import TYPE_CHECKING, ClassVar

from gigastream.gsql.expressions import Expression, GroupRef, PythonCall, walk
from gigastream.gsql.order.inference import monotone
from gigastream.gsql.order.steps import step_of
from gigastream.late_dataclass import dataclass, fields, replace
from gigastream.plan.accumulators import RUNNING_USER, Accumulator, Final, UserAccumulator
from gigastream.plan.base_time import BaseTimes
from gigastream.plan.nodes import Detail, Node, calls_in
from gigastream.plan.operators.aggregate import Aggregate
from gigastream.plan.text import expression_text
from gigastream.words import counted

if TYPE_CHECKING:
    from gigastream.plan.plan import Plan
    from gigastream.plan.python_calls import CalledRows


_NEVER = 2**32 - 1
DEFAULT_MAX_SILENCE = 100_000
"""Silent windows that are put out, one after the other: a day of seconds has 86,400."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningAggregate(Aggregate):
    """An aggregation whose groups go on; every value between two windows is one move."""

    title: ClassVar[str] = "running aggregation"

    closing: Expression
    """Over GroupRef and AggregateRef: of groups that are dropped it is true."""
    step: int = 1
    """From a value of the window's variable to the next one that it can have."""
    max_silence: int = DEFAULT_MAX_SILENCE
    """Silent windows that are put out, one after the other; what moves has settled by then."""

    @property
    def undivided(self) -> str | None:
        return self.in_their_order

    @property
    def may_be_of_nothing(self) -> bool:
        return True

    @property
    def window(self) -> int:
        """Which group variable the window is."""
        (index,) = self.temporal_groups
        return index

    @property
    def settles_after(self) -> int:
        """Silent windows after which nothing of a group changes any more."""
        if any(final.kind == RUNNING_USER for final in self.finals):
            return _NEVER
        return self.moving_windows

    @property
    def moving_windows(self) -> int:
        """Of the aggregate that looks back the furthest."""
        return max((final.windows for final in self.finals), default=1)

    @property
    def asks_for_window(self) -> bool:
        """Whether a condition may hold of one silent window, and not of the next."""
        parts = (part for condition in self.conditions_of_groups for part in walk(condition))
        return any(isinstance(part, GroupRef) and part.index == self.window for part in parts)

    def over_called(self, rows: CalledRows) -> Node:
        """Of rows alone: what has closed a group, and when, is not known above it."""
        over_groups = (*self.conditions_of_groups, *self.column_expressions)
        if any(isinstance(call, PythonCall) for e in over_groups for call in calls_in(e)):
            return Node.over_called(self, rows)
        return Aggregate.over_called(self, rows)

    @property
    def conditions_of_groups(self) -> tuple[Expression, ...]:
        having = () if self.having is None else (self.having,)
        return (*having, self.closing)

    def with_steps(self, inputs: Sequence[BaseTimes]) -> RunningAggregate:
        own = monotone(self.groups[self.window].expression)
        ways = self.group_times(inputs)[self.window] or ((own,) if own is not None else ())
        return replace(self, step=gcd(*(step_of(way.function) for way in ways)) or 1)

    def details(self, plan: Plan) -> Iterator[Detail]:
        yield from Aggregate.details(self, plan)
        yield "closing", (expression_text(self.closing),)
        name = self.groups[self.window].name
        moves = f"each value of {name}, {counted(self.step, 'unit')} apart"
        yield "moves", (moves, f"in a silence {self.max_silence:,} of them at most")


def going_on(top: Aggregate, closing: Expression, max_silence: int | None) -> RunningAggregate:
    """The aggregation whose groups go on until `closing` holds of them."""
    own = {item.name: getattr(top, item.name) for item in fields(top)}
    own["finals"] = tuple(_kept(final, top.accumulators) for final in top.finals)
    made = RunningAggregate(**own, closing=closing)
    most = DEFAULT_MAX_SILENCE if max_silence is None else max_silence
    return replace(made, max_silence=max(most, made.moving_windows))


def _kept(final: Final, accumulators: Sequence[Accumulator]) -> Final:
    """FIRST and LAST are of all windows since the group began, and so is a RUNNING UDAF."""
    accumulator = accumulators[final.accumulators[0]]
    if isinstance(accumulator, UserAccumulator) and accumulator.state.is_running:
        return replace(final, kind=RUNNING_USER)
    kind = accumulator.kind
    return replace(final, kind=f"kept_{kind}") if kind in ("first", "last") else final
