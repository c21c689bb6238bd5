# SPDX-License-Identifier: Apache-2.0
"""Selection above the border."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar

from gigastream.gsql.expressions import ColumnRef, Expression
from gigastream.gsql.order.exact import exact_range
from gigastream.gsql.order.inference import Monotone, monotone
from gigastream.gsql.order.ranges import Known, Range
from gigastream.gsql.queries import CheckedQuery, OutputColumn
from gigastream.gsql.types import Order
from gigastream.late_dataclass import dataclass, field, replace
from gigastream.plan.base_time import BaseTimes, through
from gigastream.plan.builders import leaves
from gigastream.plan.costs import columns_of
from gigastream.plan.describe.clauses import predicate_texts
from gigastream.plan.evaluated import Evaluated, columns, conditions
from gigastream.plan.nodes import Detail, Node, OneInputNode, over

if TYPE_CHECKING:
    from gigastream.plan.plan import Plan
    from gigastream.plan.python_calls import CalledRows


@dataclass(frozen=True, slots=True, kw_only=True)
class Select(OneInputNode):
    """Selection high."""

    title: ClassVar[str] = "selection"
    is_light: ClassVar[bool] = True
    passes_rows: ClassVar[bool] = True
    holds_rows: ClassVar[bool] = False

    predicates: tuple[Expression, ...]
    outputs: tuple[OutputColumn, ...]
    why_high: str = field(default="", compare=False)
    """Over packets: what kept it above the border."""

    @property
    def undivided(self) -> str | None:
        return None

    @property
    def is_of_parts(self) -> bool:
        """Rows are read one by one, wherever they come from."""
        return True

    @property
    def bounds(self) -> tuple[Monotone | None, ...]:
        return tuple(map(monotone, self.column_expressions))

    def asked_below(self, watched: Sequence[Monotone]) -> tuple[Monotone, ...]:
        return over(self.bounds, watched)

    def together(self, columns: frozenset[int]) -> frozenset[int]:
        functions = (self.bounds[index] for index in columns)
        return frozenset(item.index for f in functions if f is not None for item in f.inputs)

    def base_times(self, inputs: Sequence[BaseTimes]) -> BaseTimes:
        return through(self.bounds, inputs)

    def exact_ranges(self, inputs: Sequence[Known]) -> tuple[Range | None, ...]:
        (columns,) = inputs
        return tuple(exact_range(e, columns) for e in self.column_expressions)

    @property
    def column_expressions(self) -> tuple[Expression, ...]:
        return tuple(output.expression for output in self.outputs)

    @property
    def evaluated(self) -> Iterator[Evaluated]:
        yield from conditions(self.predicates)
        yield from columns(self.outputs)

    def columns_read(self, port: int) -> frozenset[int]:
        return columns_of(*self.predicates, *self.column_expressions, port=port)

    def over_called(self, rows: CalledRows) -> Select:
        rows.where(self.predicates)
        rows.call(self.column_expressions)
        outputs = tuple(replace(o, expression=rows.place(o.expression)) for o in self.outputs)
        return replace(self, input=rows.rows, predicates=rows.waiting, outputs=outputs)

    def details(self, plan: Plan) -> Iterator[Detail]:
        yield "high for", (self.why_high,) if self.why_high else ()
        yield "where", predicate_texts(self.predicates)


def select_node(
    query: CheckedQuery,
    stream: Node,
    predicates: tuple[Expression, ...],
    outputs: tuple[OutputColumn, ...],
) -> Select:
    """The high selection that is the query's top."""
    return Select(
        name=query.name,
        schema=query.schema,
        order=tuple(_order_through(stream, output.expression) for output in outputs),
        input=stream,
        predicates=predicates,
        outputs=outputs,
    )


def _order_through(stream: Node, expression: Expression) -> Order | None:
    """A monotone function of one ordered column is ordered."""
    if not expression.temporal.is_temporal:
        return None
    read = [n for n in leaves(expression) if isinstance(n, ColumnRef) and n.temporal.is_temporal]
    ordered = len(read) == 1 and stream.order[read[0].index] is Order.ORDERED
    return Order.ORDERED if ordered else Order.PROGRESSING
