# SPDX-License-Identifier: Apache-2.0
"""Grouping sets: a row for each set, without the group variables that the set lacks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar

from gigastream.gsql.expressions import ColumnRef
from gigastream.gsql.order.inference import Monotone, monotone
from gigastream.gsql.queries import GroupingMasks
from gigastream.gsql.types import Column, Schema, Temporal, Type
from gigastream.late_dataclass import dataclass, replace
from gigastream.plan.base_time import BaseTimes, through
from gigastream.plan.builders import NodeNames
from gigastream.plan.nodes import Detail, Node, OneInputNode, over

if TYPE_CHECKING:
    from gigastream.plan.plan import Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class Expand(OneInputNode):
    """Each row once for each grouping set: what the set lacks is NULL, and its mask is a column.

    Its rows are partial groups, or rows of group variables and what accumulators read: the groups
    of all sets are made of these above it, and no packet is looked at again.
    """

    title: ClassVar[str] = "grouping sets"
    passes_rows: ClassVar[bool] = True
    holds_rows: ClassVar[bool] = False

    grouping: GroupingMasks
    mask: int
    """The column of the mask; what stands behind it is one place further than in the input."""

    @property
    def undivided(self) -> str | None:
        return None

    def lacking_bit(self, column: int) -> int | None:
        """The bit of the mask that says that a column is NULL; None of one that never is for it."""
        variables = self.grouping.variables
        return variables.index(column) if column in variables else None

    def below(self, column: int) -> int:
        """The place of a column in the input; the mask has none."""
        assert column != self.mask
        return column - (column > self.mask)

    def read(self, column: int) -> ColumnRef:
        """A column of the input, by its place here."""
        place = self.below(column)
        return ColumnRef.to(self.input.schema.columns[place], place)

    @property
    def bounds(self) -> tuple[Monotone | None, ...]:
        return tuple(
            monotone(self.read(index)) if column.temporal.is_temporal else None
            for index, column in enumerate(self.schema.columns)
        )

    def asked_below(self, watched: Sequence[Monotone]) -> tuple[Monotone, ...]:
        return over(self.bounds, watched)

    def together(self, columns: frozenset[int]) -> frozenset[int]:
        return frozenset(self.below(column) for column in columns if column != self.mask)

    def base_times(self, inputs: Sequence[BaseTimes]) -> BaseTimes:
        return through(self.bounds, inputs)

    def origins(self, column: int) -> Iterator[tuple[str, int]]:
        yield from self.input.origins(self.below(column))

    def details(self, plan: Plan) -> Iterator[Detail]:
        yield "sets", tuple(map(self._set_text, self.grouping.masks))

    def _set_text(self, mask: int) -> str:
        """`(tb, srcIP)`."""
        lacked = {at for bit, at in enumerate(self.grouping.variables) if mask >> bit & 1}
        names = (self.schema.columns[at].name for at in range(self.mask) if at not in lacked)
        return f"({', '.join(names)})"

    def punctuation(self, index: int) -> str:
        return f"punctuation of {self.schema.columns[index].name}"


def expand(name: str, stream: Node, grouping: GroupingMasks, groups: int) -> Expand:
    """The rows of a stream, whose first columns are group variables, once for each set."""
    lacking = [_lacked(c) if i in grouping.variables else c for i, c in _numbered(stream)]
    names = NodeNames()
    names.reserve(column.name for column in lacking)
    mask = Column(names.fresh("grouping_mask"), Type.UINT)
    order = [None if i in grouping.variables else o for i, o in enumerate(stream.order)]
    return Expand(
        name=name,
        schema=Schema((*lacking[:groups], mask, *lacking[groups:])),
        order=(*order[:groups], None, *order[groups:]),
        input=stream,
        grouping=grouping,
        mask=groups,
    )


def _numbered(stream: Node) -> Iterator[tuple[int, Column]]:
    return enumerate(stream.schema.columns)


def _lacked(column: Column) -> Column:
    return replace(column, nullable=True, temporal=Temporal.VARYING)
