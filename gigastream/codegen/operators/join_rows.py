# SPDX-License-Identifier: Apache-2.0
"""What a join holds of each input, as C: the struct of a row, and how punctuation comes of it.

A row has its times, the other columns whose least is asked for, and of the columns those that are
put out or compared, with the keys.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gigastream.codegen.c_text import C_TYPE, Lines
from gigastream.codegen.expressions import CValue
from gigastream.codegen.keys import size_rank
from gigastream.gsql.expressions import ColumnRef, Expression, walk
from gigastream.gsql.order.inference import monotone
from gigastream.gsql.types import Type
from gigastream.late_dataclass import dataclass
from gigastream.plan.operators.join import Join


@dataclass(frozen=True, slots=True)
class Member:
    """A value of a held row: a column of the input, or a key that is none."""

    name: str
    expression: Expression

    @property
    def null(self) -> str:
        """The member that is true where it is NULL; "" where it never is."""
        return f"{self.name}_null" if self.expression.nullable else ""

    def cell(self, row: str) -> CValue:
        """It in a row, a pointer."""
        return CValue(f"{row}->{self.name}", f"{row}->{self.null}" if self.null else "")


@dataclass(frozen=True, slots=True)
class BoundOfColumn:
    """struct gs_join_bound."""

    output: int
    port: int
    input: int
    value: int


@dataclass(frozen=True, slots=True)
class Side:
    """One input of a join."""

    node: Join
    port: int
    columns: tuple[ColumnRef, ...]
    """Of the input, those that are held."""
    watched: tuple[int, ...]
    """Temporal columns of the input, outside of the predicate, that bound a column of the output.
    """

    @property
    def times(self) -> tuple[Expression, ...]:
        return tuple(pair.sides[self.port] for pair in self.node.pairs)

    @property
    def keys(self) -> tuple[Member, ...]:
        keys = [key[self.port] for key in self.node.keys]
        return tuple(
            Member(f"c{e.index}" if isinstance(e, ColumnRef) else f"k{at}", e)
            for at, e in enumerate(keys)
        )

    @property
    def members(self) -> tuple[Member, ...]:
        columns = [Member(f"c{e.index}", e) for e in self.columns]
        return (*columns, *(key for key in self.keys if not isinstance(key.expression, ColumnRef)))

    @property
    def value_count(self) -> int:
        return len(self.node.pairs) + len(self.watched)


class Sides:
    """Both inputs of a join, and what the columns of its output are bounded by."""

    def __init__(self, node: Join, first: Side, second: Side) -> None:
        self.node, self._sides = node, (first, second)

    @classmethod
    def of(cls, node: Join) -> Sides:
        return cls(node, _side(node, 0), _side(node, 1))

    def __iter__(self) -> Iterator[Side]:
        return iter(self._sides)

    def __getitem__(self, port: int) -> Side:
        return self._sides[port]

    @property
    def bounds(self) -> list[BoundOfColumn]:
        """Those of one column together."""
        return [bound for output in range(len(self.node.columns)) for bound in self._of(output)]

    def _of(self, output: int) -> Iterator[BoundOfColumn]:
        pairs = len(self.node.pairs)
        for port, place in enumerate(self.node.columns[output].places):
            side = self[port]
            if place is None or not _gives_bounds(self.node, output, port):
                continue
            for pair in _pairs_of(self.node, port, place):
                yield BoundOfColumn(output, port, place, pair)
            if place in side.watched:
                yield BoundOfColumn(output, port, place, pairs + side.watched.index(place))

    @property
    def joint(self) -> tuple[tuple[int, int], tuple[int, int]] | None:
        """By side the column of the output that is the first pair's time, and the input's."""
        if not self.node.gives_joint or any(self.node.keeps):
            return None
        first, second = (self._time_column(port) for port in (0, 1))
        if first is None or second is None or first[0] == second[0]:
            return None
        return first, second

    def _time_column(self, port: int) -> tuple[int, int] | None:
        for output, column in enumerate(self.node.columns):
            place = column.places[port]
            is_its_own = column.places[1 - port] is None
            if place is not None and is_its_own and 0 in _pairs_of(self.node, port, place):
                return output, place
        return None


def column_ref(node: Join, port: int, index: int) -> ColumnRef:
    """A column of an input as it comes in."""
    column = node.inputs[port].schema.columns[index]
    return ColumnRef.to(column, index, port=port, span=node.pairs[0].sides[port].span)


def _side(node: Join, port: int) -> Side:
    places = {column.places[port] for column in node.columns} - {None}
    compared = [*(key[port] for key in node.keys if isinstance(key[port], ColumnRef))]
    parts = [part for e in (*node.residual, *compared) for part in walk(e)]
    places |= {p.index for p in parts if isinstance(p, ColumnRef) and p.port == port}
    held = sorted(place for place in places if place is not None)
    columns = tuple(column_ref(node, port, index) for index in held)
    return Side(node, port, columns, _watched(node, port))


def _watched(node: Join, port: int) -> tuple[int, ...]:
    temporal = node.inputs[port].schema.columns
    places = {
        place
        for output, column in enumerate(node.columns)
        if (place := column.places[port]) is not None
        and _gives_bounds(node, output, port)
        and temporal[place].temporal.is_temporal
        and not _pairs_of(node, port, place)
    }
    return tuple(sorted(places))


def _gives_bounds(node: Join, output: int, port: int) -> bool:
    """Whether rows of the side are in every row that is put out, or either side fills the column.

    What the schema calls varying has no bound whatever is said here.
    """
    if not node.schema.columns[output].temporal.is_temporal:
        return False
    is_of_both = None not in node.columns[output].places
    return is_of_both if all(node.keeps) else not node.keeps[1 - port]


def _pairs_of(node: Join, port: int, place: int) -> list[int]:
    """The pairs whose time on this side is a function of the column alone."""
    return [
        index
        for index, pair in enumerate(node.pairs)
        if (function := monotone(pair.sides[port])) is not None
        and [item.index for item in function.inputs] == [place]
    ]


def write_row_struct(lines: Lines, prefix: str, side: Side) -> None:
    """`struct <prefix>_row<port>`, what is held; `struct <prefix>_new<port>`, what has come in."""
    members: list[tuple[str, str]] = []
    for member in side.members:
        members.append((C_TYPE[member.expression.type], member.name))
        if member.null:
            members.append(("bool", member.null))
    widest_first = sorted(members, key=lambda member: -_width(member[0]))
    with lines.block(f"struct {prefix}_row{side.port}", "};"):
        lines.add("struct gs_join_row row;", f"gs_bound values[{side.value_count}];")
        lines.add(*(f"{c_type} {name};" for c_type, name in widest_first))
    lines.add("")
    pairs = len(side.node.pairs)
    with lines.block(f"struct {prefix}_new{side.port}", "};"):
        lines.add(f"struct {prefix}_row{side.port} row;", "uint64_t hash;")
        lines.add(f"gs_bound low[{pairs}], high[{pairs}];")
    lines.add("")


def _width(c_type: str) -> int:
    return {3: 8, 0: 4, 1: 2, 2: 1}[size_rank(c_type)]


def strings_of(side: Side) -> Sequence[Member]:
    """The members whose bytes are held behind the row."""
    return [member for member in side.members if member.expression.type is Type.STRING]
