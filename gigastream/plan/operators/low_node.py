# SPDX-License-Identifier: Apache-2.0
"""What all LFTAs are: operators over the packets of a protocol, below the border."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import ClassVar, Self

from gigastream.gsql.expressions import ROW_NUMBER, Expression, FieldRef, walk
from gigastream.gsql.order.inference import Monotone, monotone
from gigastream.gsql.queries import FilterJoin, ProtocolSource, QueryOptions
from gigastream.late_dataclass import dataclass, field, replace
from gigastream.plan.base_time import BaseTimes
from gigastream.plan.evaluated import Evaluated, conditions
from gigastream.plan.nodes import Node


@dataclass(frozen=True, slots=True, kw_only=True)
class LowNode(Node):
    """An LFTA: selection or partial aggregation over the packets of a protocol."""

    is_low: ClassVar[bool] = True

    source: ProtocolSource
    predicates: tuple[Expression, ...]
    """Conjuncts of WHERE that are evaluated here, cheapest first."""
    filter: FilterJoin | None = None
    """What packets must have come before; its LFTA has no prefilter, since it sees all of them."""
    signature: tuple[int, ...] = ()
    """Those of the plan's prefilter that a packet must pass before the LFTA sees it."""
    needs: tuple[Monotone, ...] = ()
    """What the consumers look at, over the packet's timestamp: a change is worth a punctuation."""
    table_of: tuple[str, ...] = ()
    """The LFTAs that fill one table together, this one among them; the first has the table."""
    options: QueryOptions = field(default=QueryOptions(), compare=False)

    @property
    def expressions(self) -> Iterator[Expression]:
        """Everything that is evaluated for a packet, the prefilter's predicates excepted."""
        return (expression for expression, _ in self.evaluated)

    @property
    def of_filter(self) -> Iterator[Evaluated]:
        """What its FILTER_JOIN evaluates."""
        return conditions(() if self.filter is None else self.filter.expressions)

    @property
    def undivided_packets(self) -> str | None:
        """Why all packets must be looked at by one reader."""
        if self.source.decapsulation is not None or self.source.reassembly is not None:
            return f"{self.name} sees other packets than the capture has"
        if self.filter is not None or self.row_column is not None:
            return f"{self.name} remembers packets, or counts them, from the first one on"
        return None

    @property
    def deals_rows(self) -> bool:
        """Whether it may have part of the groups, and send the rows of others to who has them."""
        return False

    @property
    def table_key(self) -> object:
        """Equal for two that may fill one table (share_groups); None: it must have its own."""
        return None

    def with_table(self, names: tuple[str, ...]) -> Self:
        """The same, which fills a table with LFTAs of these names, itself among them."""
        return replace(self, table_of=names)

    @property
    def has_table_of_another(self) -> bool:
        """Whether it fills a table with others of which it is not the first."""
        return bool(self.table_of) and self.table_of[0] != self.name

    @property
    def row_column(self) -> int | None:
        """The column that is made of the number of the tuple, where a window counts rows."""
        return None

    @property
    def row_unit(self) -> int:
        """How many tuples have one value of it."""
        function = None if self.row_column is None else monotone(self.bounded[self.row_column])
        return 0 if function is None else function.inverse(1)

    def punctuation(self, index: int) -> str:
        if index == self.row_column:
            return "punctuation of the number of tuples so far"
        return Node.punctuation(self, index)

    @property
    def own_needs(self) -> tuple[Monotone, ...]:
        """What it must announce whoever reads it; where it is nothing, the consumers decide."""
        return ()

    def base_times(self, inputs: Sequence[BaseTimes]) -> BaseTimes:
        return tuple(() if function is None else (function,) for function in self.bounds)


def row_column_of(expressions: Iterable[Expression]) -> int | None:
    """The first that reads the number of the tuple."""
    for index, expression in enumerate(expressions):
        if any(isinstance(e, FieldRef) and e.accessor == ROW_NUMBER for e in walk(expression)):
            return index
    return None


def over_timestamp(expression: Expression) -> Monotone | None:
    """How a packet expression carries a bound of the packet's time, or None."""
    function = monotone(expression)
    return None if function is None else function.over_timestamp()
