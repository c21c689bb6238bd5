# SPDX-License-Identifier: Apache-2.0
"""Sort: a stream that is only progressing, put in the order of one of its temporal columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar

from gigastream.gsql.order.inference import Monotone
from gigastream.gsql.source import NOWHERE, Span
from gigastream.late_dataclass import dataclass, field
from gigastream.plan.base_time import BaseTimes
from gigastream.plan.builders import ordered_on
from gigastream.plan.nodes import Awaited, Detail, Node, PassingNode

if TYPE_CHECKING:
    from gigastream.plan.plan import Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class Sort(PassingNode):
    """Rows below the punctuation of a column leave in its order (OPERATORS section 4)."""

    title: ClassVar[str] = "sort"

    column: int
    ties: tuple[int, ...] = ()
    """What puts rows of one time in order; none: the order in which they come."""
    asked_at: Span | None = field(default=None, compare=False)
    """The query whose DEFINE in_order asks for it; what reads it would take rows as they come."""
    span: Span = field(default=NOWHERE, compare=False)
    """Of what needs the order."""

    @property
    def maker(self) -> Node:
        return self.input.maker

    def asked_below(self, watched: Sequence[Monotone]) -> tuple[Monotone, ...]:
        return tuple(watched)

    def awaited(self, inputs: Sequence[BaseTimes]) -> tuple[Awaited, ...]:
        """A row leaves once its time is passed: another of the same may come until then."""
        (columns,) = inputs
        name = self.schema.columns[self.column].name
        return (Awaited(name, self.span, columns[self.column], is_group=False),)

    def details(self, plan: Plan) -> Iterator[Detail]:
        name = self.schema.columns[self.column].name
        ties = (self.schema.columns[index].name for index in self.ties)
        yield "order", (", ".join((name, *ties)),)
        yield "holds", (f"every row, until punctuation of {name} has passed it",)

    def punctuation(self, index: int) -> str:
        name = self.schema.columns[index].name
        if index == self.column:
            return f"punctuation of {name}, once what is below it has left"
        return f"punctuation of {name}, or the least that is held"


def sort_node(
    name: str,
    stream: Node,
    column: int,
    ties: tuple[int, ...],
    asked_at: Span | None,
    span: Span,
) -> Sort:
    """A stream in the order of a temporal column, which is wanted at `span`."""
    return Sort(
        name=name,
        schema=stream.schema,
        order=ordered_on(stream.schema, column),
        input=stream,
        column=column,
        ties=ties,
        asked_at=asked_at,
        span=span,
    )
