# SPDX-License-Identifier: Apache-2.0
"""The rows that are joined, and joined rows: a column is made where a name is first looked up.

So each side of a join carries exactly what is read of it, and no more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gigastream.gsql.binder.columns import unique
from gigastream.gsql.binder.names import PacketNames, SourceNames, StreamNames
from gigastream.gsql.binder.sources import SourceItem
from gigastream.gsql.expressions import Cast, ColumnRef, Expression, FieldRef
from gigastream.gsql.operations.conversion import converted
from gigastream.gsql.queries import (
    JoinColumn,
    JoinInput,
    JoinSource,
    OutputColumn,
    Sides,
    TimeRelation,
)
from gigastream.gsql.source import NOWHERE, Span
from gigastream.gsql.types import Column, Schema, Temporal
from gigastream.late_dataclass import replace

Read = FieldRef | ColumnRef
"""What a name means in a FROM item: `port` is the item's."""
Seen = Callable[[Sequence[Expression]], Expression]
"""What a name means elsewhere: it is given the columns that have the name."""


class Rows:
    """Rows of some FROM items, of which columns are asked one by one."""

    def __init__(self, ports: frozenset[int]) -> None:
        self.ports = ports

    def column(self, reads: Sequence[Expression], *, own: bool = False) -> ColumnRef:
        """Where a FROM item's column is in these rows.

        Of several, which are equated: any that is there.
        `own`: itself, though Tigon's joins fill it.
        """
        raise NotImplementedError

    def origins(self, index: int) -> tuple[Read, ...]:
        """The FROM items' columns that a column of these rows has its values of."""
        raise NotImplementedError

    def presence(self, port: int) -> Expression | None:
        """A FROM item's column that is NULL in no row of it: where it is, the item is absent."""
        raise NotImplementedError

    @property
    def columns(self) -> list[Column]:
        """Those that were asked for."""
        raise NotImplementedError

    def built(self) -> JoinInput:
        """The rows as a side of a join."""
        raise NotImplementedError


class SourceRows(Rows):
    """The rows of one FROM item that pass the conditions on them alone."""

    def __init__(self, item: SourceItem, where: Expression | None) -> None:
        super().__init__(frozenset((item.names.index,)))
        self.names = item.names
        self.where = where
        self._item = item
        self._columns: dict[tuple[object, ...], OutputColumn] = {}
        self._taken: set[str] = set()
        if where is None and isinstance(item.names, StreamNames):
            self._take_all(item.names)

    def _take_all(self, names: StreamNames) -> None:
        """Rows of a query of which none is left out are its own: nothing need pick columns."""
        for _, read in names.everything(NOWHERE):
            self.column([read])

    def column(self, reads: Sequence[Expression], *, own: bool = False) -> ColumnRef:
        (read,) = reads
        assert isinstance(read, FieldRef | ColumnRef)
        key = _key(read)
        if key not in self._columns:
            self._columns[key] = self._made(read)
        index = list(self._columns).index(key)
        return ColumnRef.to(self.columns[index], index, span=read.span)

    def origins(self, index: int) -> tuple[Read, ...]:
        made = list(self._columns.values())[index].expression
        assert isinstance(made, FieldRef | ColumnRef)
        return (replace(made, port=self.names.index),)

    def presence(self, port: int) -> Expression | None:
        found = (made.expression for made in self._columns.values())
        known = (replace(e, port=port) for e in found if not e.nullable)  # type: ignore[call-arg]
        return next(known, None)

    def _made(self, read: Read) -> OutputColumn:
        name = unique(read.field if isinstance(read, FieldRef) else read.name, self._taken)
        subtype, clock = described(self.names, read)
        return OutputColumn(name, at_home(read), subtype, clock)

    @property
    def columns(self) -> list[Column]:
        return [
            Column(
                made.name,
                made.expression.type,
                made.expression.temporal,
                made.expression.nullable,
                made.subtype,
                made.clock,
            )
            for made in self._columns.values()
        ]

    def built(self) -> JoinInput:
        assert self._item.build is not None
        columns = tuple(self._columns.values())
        return JoinInput(_short(self.names), self._item.build(), columns, self.where)


class JoinedRows(Rows):
    """The rows of a join of two others."""

    def __init__(
        self, left: Rows, right: Rows, keeps: tuple[bool, bool], is_standard: bool, span: Span
    ) -> None:
        super().__init__(left.ports | right.ports)
        self.sides = (left, right)
        self.keeps = keeps
        self.times: tuple[TimeRelation, ...] = ()
        self.keys: tuple[Sides, ...] = ()
        self.residual: tuple[Expression, ...] = ()
        self.filters: Expression | None = None
        self.equated: list[tuple[int, int]] = []
        """Columns of the sides that the predicate equates."""
        self._is_standard = is_standard
        self._span = span
        self._columns: dict[tuple[int | None, int | None], Column] = {}
        self._taken: set[str] = set()

    def operand(self, reads: Sequence[Expression]) -> Expression:
        """What a name means in the predicate: a column of port 0 or 1."""
        side = self._side_of(reads[0])
        return replace(self.sides[side].column(self._of(side, reads)), port=side)

    def joined(self, reads: Sequence[Expression]) -> Expression:
        """What a name means of the joined rows; one that several columns have is of any of them."""
        return self.column(reads)

    def column(self, reads: Sequence[Expression], *, own: bool = False) -> ColumnRef:
        side = self._side_of(reads[0])
        index = self.sides[side].column(self._of(side, reads), own=own).index
        places = _alone(side, index) if own else self._places(side, index, reads)
        if places not in self._columns:
            self._columns[places] = self._made(places)
        index = list(self._columns).index(places)
        return ColumnRef.to(self._columns[places], index, span=reads[0].span)

    def origins(self, index: int) -> tuple[Read, ...]:
        places = zip(self.sides, list(self._columns)[index], strict=True)
        found = [side.origins(at) for side, at in places if at is not None]
        return tuple(read for reads in found for read in reads)

    def presence(self, port: int) -> Expression | None:
        return self.sides[self._side_with(port)].presence(port)

    def _side_of(self, read: Expression) -> int:
        assert isinstance(read, FieldRef | ColumnRef)
        return self._side_with(read.port)

    def _side_with(self, port: int) -> int:
        return 0 if port in self.sides[0].ports else 1

    def _of(self, side: int, reads: Sequence[Expression]) -> list[Read]:
        """Those that a side has."""
        known = (read for read in reads if isinstance(read, FieldRef | ColumnRef))
        return [read for read in known if read.port in self.sides[side].ports]

    def _places(
        self, side: int, index: int, reads: Sequence[Expression]
    ) -> tuple[int | None, int | None]:
        """Of equated columns that of the side that is there, as Tigon has it (GSQL 6.8)."""
        alone = _alone(side, index)
        theirs = self._of(1 - side, reads)
        if not any(self.keeps) or (self._is_standard and not theirs):
            return alone
        if theirs:
            there: int | None = self.sides[1 - side].column(theirs).index
        else:
            there = next((pair[1 - side] for pair in self.equated if pair[side] == index), None)
        if there is None:
            return alone
        pair = (index, there) if side == 0 else (there, index)
        if all(self.keeps):
            wide = (side, 1 - side) if theirs else (side,)
            return pair if any(self._holds_both(of, pair) for of in wide) else alone
        return (pair[0], None) if self.keeps[0] else (None, pair[1])

    def _holds_both(self, side: int, pair: tuple[int, int]) -> bool:
        """True if a side's column can have every value of the other's, too."""
        own, other = self._pair_of(pair) if side == 0 else self._pair_of(pair)[::-1]
        cast = converted(ColumnRef.to(other, 0), own.type)
        return not (isinstance(cast, Cast) and cast.checked)

    def _pair_of(self, pair: tuple[int, int]) -> tuple[Column, Column]:
        return self.sides[0].columns[pair[0]], self.sides[1].columns[pair[1]]

    def _made(self, places: tuple[int | None, int | None]) -> Column:
        left, right = places
        if left is not None and right is not None:
            made = self._filled((left, right))
        elif left is not None:
            made = self._of_side(0, left)
        else:
            assert right is not None
            made = self._of_side(1, right)
        return replace(made, name=unique(made.name, self._taken))

    def _of_side(self, side: int, index: int) -> Column:
        """Where the other side is kept, this one may be absent."""
        column = self.sides[side].columns[index]
        if not self.keeps[1 - side]:
            return column
        return replace(column, nullable=True, temporal=Temporal.VARYING, clock="")

    def _filled(self, pair: tuple[int, int]) -> Column:
        left, right = self._pair_of(pair)
        is_left = self._holds_both(0, pair)
        moves = left.temporal is right.temporal and left.temporal.is_temporal
        moves = moves and left.type is right.type
        return replace(
            left if is_left else right,
            nullable=left.nullable or right.nullable,
            temporal=left.temporal if moves else Temporal.VARYING,
            subtype=left.subtype if left.subtype == right.subtype else "",
            clock=left.clock if moves and left.clock == right.clock else "",
        )

    @property
    def columns(self) -> list[Column]:
        return list(self._columns.values())

    def source(self) -> JoinSource:
        """What the planner takes."""
        left, right = self.sides
        return JoinSource(
            (left.built(), right.built()),
            self.keeps,
            self.times,
            self.keys,
            self.residual,
            tuple(JoinColumn(column, places) for places, column in self._columns.items()),
            self._span,
        )

    def built(self) -> JoinInput:
        columns = tuple(
            OutputColumn(c.name, ColumnRef.to(c, i), c.subtype, c.clock)
            for i, c in enumerate(self.columns)
        )
        return JoinInput("", self.source(), columns, self.filters)


class JoinedNames(StreamNames):
    """The joined rows as a source of their own, of which a query's columns come."""

    def __init__(self, rows: JoinedRows) -> None:
        super().__init__(0, ("join",), None, Schema(tuple(rows.columns)))


def _alone(side: int, index: int) -> tuple[int | None, int | None]:
    return (index, None) if side == 0 else (None, index)


def at_home(read: Expression) -> Expression:
    """A FROM item's column as its source has it, which has one port."""
    assert isinstance(read, FieldRef | ColumnRef)
    return replace(read, port=0)


def described(names: SourceNames, read: Read) -> tuple[str, str]:
    """The subtype and the clock of a FROM item's column."""
    if isinstance(read, FieldRef):
        assert isinstance(names, PacketNames)
        return names.declared(read).subtype, read.clock if read.temporal.is_temporal else ""
    assert isinstance(names, StreamNames)
    column = names.schema.columns[read.index]
    return column.subtype, column.clock


def _key(read: Read) -> tuple[object, ...]:
    if isinstance(read, FieldRef):
        return read.accessor, read.is_optional
    return (read.index,)


def _short(names: SourceNames) -> str:
    """What a FROM item is called in the name of what reads it."""
    return names.alias or names.tables[0].rsplit("/", 1)[-1]
