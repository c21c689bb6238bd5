# SPDX-License-Identifier: Apache-2.0
"""Sampling (GSQL section 6.5): groups within supergroups, which decide who comes in and who stays.

Johnson, Muthukrishnan, Rozenbaum, Sampling Algorithms in a Stream Operator, SIGMOD 2005.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar

from gigastream.gsql.expressions import (
    Expression,
    FunctionCall,
    PythonCall,
    SupergroupState,
    is_of_supergroup,
)
from gigastream.gsql.queries import Sampling
from gigastream.gsql.source import Span
from gigastream.late_dataclass import dataclass
from gigastream.plan.accumulators import Accumulator
from gigastream.plan.describe.clauses import predicate_texts
from gigastream.plan.evaluated import Evaluated, conditions
from gigastream.plan.nodes import Detail, Node, calls_in
from gigastream.plan.operators.aggregate import Aggregate
from gigastream.plan.text import expression_text

if TYPE_CHECKING:
    from gigastream.plan.plan import Plan
    from gigastream.plan.python_calls import CalledRows


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample(Aggregate):
    """An aggregation over rows in order whose supergroups keep states."""

    title: ClassVar[str] = "sampling"

    admission: tuple[Expression, ...]
    """What of WHERE asks a supergroup: in the order in which it is written, behind the rest."""
    sampling: Sampling
    order_column: int
    """Of the input: rows come in its order."""
    tied: tuple[int, ...]
    """Of the input: what puts rows of one time in order; none where they come so anyway."""
    grains: tuple[Expression, ...] = ()
    """Of the input: with each value of them rows that wait to be sorted may leave."""

    @property
    def watched(self) -> tuple[Expression, ...]:
        """Rows need not wait for a window's end, sorted: a part of a second of them is enough."""
        windows = (self.groups[index].expression for index in self.temporal_groups)
        return (*windows, *self.grains)

    def ordered_by(self, port: int) -> int | None:
        return self.order_column

    def ties_of(self, port: int) -> tuple[int, ...]:
        return self.tied

    @property
    def asks_order_at(self) -> Span:
        return self.sampling.span

    def over_called(self, rows: CalledRows) -> Node:
        """Of rows before they are sampled, and of groups that are left: it knows of no state."""
        arguments = [e for a in self.accumulators for e in a.expressions]
        asking = [*self.admission, *self.conditions_of_groups]
        asking += filter(is_of_supergroup, arguments)
        if any(map(is_of_supergroup, self.column_expressions)):
            asking += self.column_expressions
        if any(isinstance(call, PythonCall) for e in asking for call in calls_in(e)):
            return Node.over_called(self, rows)
        return Aggregate.over_called(self, rows)

    @property
    def super_keys(self) -> tuple[int, ...]:
        """The group variables that tell supergroups of one window apart."""
        windows = self.temporal_groups
        return tuple(i for i in self.sampling.supergroup if i not in windows)

    @property
    def conditions_of_groups(self) -> tuple[Expression, ...]:
        cleaning = (self.having, self.sampling.cleaning_when, self.sampling.cleaning_by)
        return tuple(e for e in cleaning if e is not None)

    def _evaluated(self, accumulators: Sequence[Accumulator]) -> Iterator[Evaluated]:
        yield from Aggregate._evaluated(self, accumulators)
        yield from conditions(self.admission)

    def columns_read(self, port: int) -> frozenset[int]:
        return Aggregate.columns_read(self, port) | {self.order_column, *self.tied}

    @property
    def states(self) -> dict[str, FunctionCall]:
        """What a supergroup keeps, by the name of the STATE: a call that is given it."""
        found: dict[str, FunctionCall] = {}
        for call in self.calls:
            for argument in call.arguments:
                if isinstance(argument, SupergroupState):
                    found.setdefault(argument.state.lower(), call)
        return found

    def details(self, plan: Plan) -> Iterator[Detail]:
        yield "admits", predicate_texts(self.admission)
        yield from Aggregate.details(self, plan)
        names = (self.groups[index].name for index in self.sampling.supergroup)
        yield "supergroup", (", ".join(names),)
        yield "keeps of it", tuple(f"the state {name}" for name in self.states)
        for word, e in (
            ("cleaning when", self.sampling.cleaning_when),
            ("cleaning by", self.sampling.cleaning_by),
        ):
            yield word, () if e is None else (expression_text(e),)
