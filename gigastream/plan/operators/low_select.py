# SPDX-License-Identifier: Apache-2.0
"""Selection below the border: the rows that pass, as they come."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar

from gigastream.gsql.expressions import Expression
from gigastream.gsql.order.inference import Monotone
from gigastream.gsql.queries import OutputColumn
from gigastream.late_dataclass import dataclass
from gigastream.plan.describe.low import packet_details, reader_details
from gigastream.plan.evaluated import Evaluated, columns, conditions
from gigastream.plan.nodes import Detail, over
from gigastream.plan.operators.low_node import LowNode, over_timestamp, row_column_of

if TYPE_CHECKING:
    from gigastream.plan.plan import Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class LowSelect(LowNode):
    """Selection low."""

    title: ClassVar[str] = "selection LFTA"
    holds_rows: ClassVar[bool] = False

    outputs: tuple[OutputColumn, ...]

    @property
    def bounds(self) -> tuple[Monotone | None, ...]:
        return tuple(map(over_timestamp, self.column_expressions))

    @property
    def bounded(self) -> tuple[Expression, ...]:
        return self.column_expressions

    @property
    def row_column(self) -> int | None:
        return row_column_of(self.column_expressions)

    def asked_below(self, watched: Sequence[Monotone]) -> tuple[Monotone, ...]:
        return over(self.bounds, watched)

    @property
    def column_expressions(self) -> tuple[Expression, ...]:
        return tuple(output.expression for output in self.outputs)

    @property
    def evaluated(self) -> Iterator[Evaluated]:
        yield from self.of_filter
        yield from conditions(self.predicates)
        yield from columns(self.outputs)

    def details(self, plan: Plan) -> Iterator[Detail]:
        yield from packet_details(self, plan)
        yield from reader_details(self, plan)
