# SPDX-License-Identifier: Apache-2.0
"""Merge: streams in the order of a column as one that is (Bai et al., ICDE 2007, Figure 6)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar, Self

from gigastream.gsql.order.inference import Monotone
from gigastream.gsql.queries import MergeClause
from gigastream.gsql.source import NOWHERE, Span
from gigastream.gsql.types import Schema
from gigastream.late_dataclass import dataclass, field, replace
from gigastream.plan.base_time import BaseTimes, joined
from gigastream.plan.builders import ordered_on
from gigastream.plan.nodes import Detail, Node

if TYPE_CHECKING:
    from gigastream.plan.plan import Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class Merge(Node):
    """Rows of all inputs in the order of a temporal column, in which each input is."""

    title: ClassVar[str] = "merge"
    merges: ClassVar[bool] = True
    keeps_inputs_apart: ClassVar[bool] = True

    parts: tuple[Node, ...]
    column: int
    slack: int
    """How far an input may step back, in the column's unit."""
    span: Span = field(default=NOWHERE, compare=False)

    @property
    def inputs(self) -> tuple[Node, ...]:
        return self.parts

    def with_inputs(self, inputs: tuple[Node, ...]) -> Self:
        return replace(self, parts=inputs)

    def ordered_by(self, port: int) -> int | None:
        return self.column

    @property
    def asks_order_at(self) -> Span:
        return self.span

    def asked_below(self, watched: Sequence[Monotone]) -> tuple[Monotone, ...]:
        return tuple(watched)

    def base_times(self, inputs: Sequence[BaseTimes]) -> BaseTimes:
        return joined(inputs)

    def details(self, plan: Plan) -> Iterator[Detail]:
        name = self.schema.columns[self.column].name
        yield "order", (f"{name}; of equal ones the input that stands first",)
        yield "slack", (f"{self.slack}, in the unit of {name}",) if self.slack else ()
        yield "holds", (f"rows of an input that is ahead, until all have reached their {name}",)

    def origins(self, column: int) -> Iterator[tuple[str, int]]:
        for part in self.parts:
            yield from part.origins(column)

    def punctuation(self, index: int) -> str:
        name = self.schema.columns[index].name
        if index == self.column:
            return f"the least {name} that an input has reached, by a row or by punctuation"
        return "least punctuation of all inputs, or the least that is held"


def merge_node(name: str, schema: Schema, parts: tuple[Node, ...], merge: MergeClause) -> Merge:
    """The merge of these streams."""
    return Merge(
        name=name,
        schema=schema,
        order=ordered_on(schema, merge.column),
        parts=parts,
        column=merge.column,
        slack=merge.slack,
    )
