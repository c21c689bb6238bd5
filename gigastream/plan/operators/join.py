# SPDX-License-Identifier: Apache-2.0
"""Join of two streams whose times the predicate relates (Li et al., VLDB 2008, Figure 4)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar, Self

from gigastream.gsql.expressions import ColumnRef, Expression, rewrite
from gigastream.gsql.order.inference import Monotone, distinct, monotone
from gigastream.gsql.queries import Sides, TimeRelation
from gigastream.gsql.types import Type
from gigastream.late_dataclass import dataclass, replace
from gigastream.plan.base_time import Alternatives, BaseTimes, joined
from gigastream.plan.costs import columns_of
from gigastream.plan.describe.joins import (
    condition_text,
    equality_text,
    held_text,
    pair_text,
    promise_text,
)
from gigastream.plan.evaluated import Evaluated, conditions
from gigastream.plan.nodes import Detail, Node, Quantities

if TYPE_CHECKING:
    from gigastream.plan.plan import Plan


@dataclass(frozen=True, slots=True)
class JoinedColumn:
    """A column of the output: which column of each input it is, None where of none.

    Of both: the predicate equates them, and that of the side that is present is taken, in the wider
    type of the two.
    """

    name: str
    places: tuple[int | None, int | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Join(Node):
    """Rows of two streams that match; of a kept side also those that match nothing.

    Two rows match where every pair of times, every equality of `keys` and `residual` hold; a NULL
    in any of them is no match. A row of a kept side that never matched goes out with NULL in
    the columns of the other side, as soon as punctuation proves it, and before the punctuation
    that covers it.
    """

    title: ClassVar[str] = "join"
    sorts_in_order: ClassVar[bool] = True

    left: Node
    right: Node
    keeps: tuple[bool, bool]
    """Which sides' rows come without a match, too."""
    pairs: tuple[TimeRelation, ...]
    """At least one."""
    keys: tuple[Sides, ...]
    """Other equalities, both sides of one type; their values are hashed."""
    residual: tuple[Expression, ...]
    """Conditions over both ports."""
    columns: tuple[JoinedColumn, ...]
    gives_joint: bool = False
    """A consumer asks for the joint bound of the two times (an inner join's only)."""
    max_rows: int | None = None
    """Rows that may be held; None: as many as the budget of memory allows."""

    @property
    def inputs(self) -> tuple[Node, ...]:
        return self.left, self.right

    def with_inputs(self, inputs: tuple[Node, ...]) -> Self:
        left, right = inputs
        return replace(self, left=left, right=right)

    # Time

    @property
    def bounded(self) -> tuple[Expression, ...]:
        return tuple(side for pair in self.pairs for side in pair.sides)

    @property
    def related_times(self) -> tuple[TimeRelation, ...]:
        return self.pairs

    def watched_of(self, port: int) -> tuple[Expression, ...]:
        """The times that let rows of the other side go.

        Not those that grow with every packet: rows wait for the next heartbeat rather than every
        batch is cut to a row.
        """
        sides = (pair.sides[port] for pair in self.pairs)
        return tuple(_of_only_port(side) for side in sides if not _is_of_every_packet(side))

    def asked_of(self, port: int, watched: Sequence[Monotone]) -> tuple[Monotone, ...]:
        return distinct(asked for function in watched for asked in self._asked(function, port))

    def _asked(self, function: Monotone, port: int) -> Iterator[Monotone]:
        """What a consumer watches, where it is of this side alone; else what it reads of it."""
        columns = self.inputs[port].schema.columns
        places = [self.columns[item.index].places[port] for item in function.inputs]
        refs = [monotone(ColumnRef.to(columns[at], at)) for at in places if at is not None]
        known = [ref for ref in refs if ref is not None]
        if len(known) == len(places):
            yield function.of(known)
        else:
            yield from known

    def base_times(self, inputs: Sequence[BaseTimes]) -> BaseTimes:
        columns = zip(self.schema.columns, self.columns, strict=True)
        return tuple(
            _base_times(joined, inputs) if column.temporal.is_temporal else ()
            for column, joined in columns
        )

    def with_joint(self, together: frozenset[int]) -> Node:
        """An inner join promises its two times together where they are looked at so."""
        sides = {self._time_side(index) for index in together}
        if any(self.keeps) or not {0, 1} <= sides:
            return self
        return replace(self, gives_joint=True)

    def _time_side(self, index: int) -> int | None:
        """The side whose time in the first pair a column is."""
        for port, place in enumerate(self.columns[index].places):
            read = columns_of(self.pairs[0].sides[port], port=port)
            if place is not None and read == {place}:
                return port
        return None

    # Rows

    @property
    def compared(self) -> tuple[Expression, ...]:
        """Both sides of all that is equated or within reach."""
        return (*self.bounded, *(side for key in self.keys for side in key))

    @property
    def evaluated(self) -> Iterator[Evaluated]:
        yield from conditions(self.compared)
        yield from conditions(self.residual)

    def columns_read(self, port: int) -> frozenset[int]:
        read = columns_of(*(e for e, _ in self.evaluated), port=port)
        places = (column.places[port] for column in self.columns)
        return read | {place for place in places if place is not None}

    def quantities(self, inputs: Sequence[Quantities]) -> Quantities:
        places = (enumerate(column.places) for column in self.columns)
        return tuple(
            all(inputs[port][at] for port, at in of_column if at is not None)
            for of_column in places
        )

    # What explain shows

    def details(self, plan: Plan) -> Iterator[Detail]:
        yield "inputs", (f"S0 is {self.left.name}", f"S1 is {self.right.name}")
        kept = [f"S{side}" for side, keeps in enumerate(self.keeps) if keeps]
        yield "keeps", (f"rows of {' and of '.join(kept)} that match none",) if kept else ()
        yield "matches", (*map(pair_text, self.pairs), *map(equality_text, self.keys))
        yield "where", tuple(map(condition_text, self.residual))
        yield "holds", tuple(held_text(self, side) for side in (0, 1))
        yield "gives", ("a joint bound of the times of S0 and S1",) if self.gives_joint else ()

    @property
    def made_of(self) -> tuple[str, ...]:
        return tuple(map(self._made_of, self.columns))

    def _made_of(self, column: JoinedColumn) -> str:
        names = [
            f"S{port}.{self.inputs[port].schema.columns[at].name}"
            for port, at in enumerate(column.places)
            if at is not None
        ]
        return " or ".join(names)

    def punctuation(self, index: int) -> str:
        return promise_text(self, index)


def _of_only_port(expression: Expression) -> Expression:
    def change(part: Expression) -> Expression:
        return replace(part, port=0) if isinstance(part, ColumnRef) else part

    return rewrite(expression, change)


def _is_of_every_packet(expression: Expression) -> bool:
    """True for a time in nanoseconds that is not rounded."""
    function = monotone(expression)
    if function is None or expression.type is not Type.TIMESTAMP or len(function.inputs) != 1:
        return False
    return function.forward(1) < function.forward(2) < function.forward(3)


def _base_times(column: JoinedColumn, inputs: Sequence[BaseTimes]) -> Alternatives:
    found = [inputs[port][at] for port, at in enumerate(column.places) if at is not None]
    (only,) = joined([(alternatives,) for alternatives in found])
    return only
