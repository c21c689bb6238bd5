# SPDX-License-Identifier: Apache-2.0
"""One source of a FROM clause: packets, a query's rows, or a UNION of such (GSQL §6, item 7)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tests.answers.reference.fields import all_fields, field
from tests.answers.reference.sources import AS_THEY_ARE, Answer, Column, Source, Tuple, View
from tests.answers.reference.syntax import Input, Name, Table, Window
from tests.answers.reference.typed import INCREASING, VARYING, Typed, passed_on
from tests.oracle.packet import FieldAbsentError, Packet

Found = Mapping[str, Answer]


@dataclass(frozen=True)
class Captures:
    """The captures that all queries of a set read."""

    sources: Sequence[Source]
    view: View = AS_THEY_ARE
    """How the query sees packets."""

    def tuples(self, table: Table, names: set[str]) -> Iterator[Tuple]:
        """The packets of a protocol that have these fields; each source's are numbered."""
        interfaces = list(dict.fromkeys(source.interface for source in self.sources))
        for source in self.sources:
            if table.interface in ("", source.interface):
                ordinal = interfaces.index(source.interface)
                chosen = (t for t in source.tuples(table.name, self.view) if _has_all(t.row, names))
                for number, found in enumerate(chosen):
                    timestamp, position = found.place
                    yield Tuple((timestamp, ordinal, position), found.row, number)


def _has_all(packet: Packet, names: set[str]) -> bool:
    try:
        for name in names:
            packet[name]
    except FieldAbsentError:
        return False
    return True


class InputReader:
    """What the names of one source mean, and its rows: packets, or tuples of values."""

    def __init__(self, source: Input, captures: Captures, found: Found) -> None:
        self.window: Window | None = source.window
        self.shown = source.alias or source.tables[0].name
        """What it is called in the text."""
        self._names = {source.alias, *(table.name for table in source.tables)} - {""}
        self._captures = captures
        self._branches = [b for table in source.tables for b in _branches(table, found)]
        self._merged_on = _merged_on(source.tables, found)
        self._named = _required(source.tables, found)
        """The fields that the text names."""

    @property
    def queries(self) -> list[Answer]:
        """The branches that are queries."""
        return [branch for branch in self._branches if isinstance(branch, Answer)]

    @property
    def tables(self) -> list[Table]:
        """The branches that are packets."""
        return [branch for branch in self._branches if isinstance(branch, Table)]

    def answers_to(self, qualifier: str) -> bool:
        """Whether `qualifier.column` can mean this source."""
        return qualifier.lower() in {name.lower() for name in self._names}

    def has(self, name: str) -> bool:
        """Whether it has a column of that name."""
        try:
            self._typed(name)
        except KeyError:
            return False
        return True

    def column(self, name: Name) -> Typed:
        """A column, which packets must have then. KeyError if there is none."""
        typed = self._typed(name.name)
        self._named.add(name.name)
        return typed

    def _typed(self, name: str) -> Typed:
        """Queries of a union have the same columns by place, and the first one's names."""
        found = [_column_of(b, name) for b in self.tables]
        index = self.queries[0].place(name) if self.queries else 0
        found += [passed_on(answer.columns[index].typed, index) for answer in self.queries]
        met = found[0]
        for typed in found[1:]:
            met = met_column(met, typed)
        if self.tables and self.queries:
            return replace(met, read=_of_either(found[0].read, found[-1].read))
        return met

    def star(self) -> tuple[Column, ...]:
        """What `*` stands for."""
        if self.queries:
            names = [column.name for column in self.queries[0].columns]
            return tuple(Column(name, self.column(Name(name))) for name in names)
        return tuple(Column(name, typed) for name, typed in all_fields(self.tables[0].name))

    def clocks(self) -> Iterator[Name]:
        """The columns that increase."""
        return (Name(column.name) for column in self.star() if column.typed.order == INCREASING)

    def tuples(self) -> Iterator[Tuple]:
        """The rows of all branches.

        Beside a query's rows packets are placed as these are, merged ones by the merged column.
        """
        for branch in self._branches:
            if isinstance(branch, Answer):
                is_alone = len(self._branches) == 1
                yield from (branch.tuples() if is_alone else map(_by_time, branch.tuples()))
                continue
            for item in self._captures.tuples(branch, self._named):
                is_placed = self.queries or self._merged_on
                yield replace(item, place=self._place(branch, item)) if is_placed else item

    def _place(self, table: Table, item: Tuple) -> tuple[Any, ...]:
        """By the column that orders the rows: of a merge its own, else the first query's."""
        columns = [column for query in self.queries[:1] for column in query.columns]
        names = [column.name for column in columns if column.typed.is_temporal]
        names = self._merged_on or names
        return tuple(_column_of(table, name).read(item.row) for name in names[:1])


def _by_time(item: Tuple) -> Tuple:
    """Records of several STREAMs have no places among each other but their times."""
    return replace(item, place=item.place[:1])


def _branches(table: Table, found: Found) -> Sequence[Table | Answer]:
    """A merge of packets is read as its packets are: only the reader's names are required."""
    answer = found.get(table.name)
    if answer is None:
        return [table]
    return answer.packets or [answer]


def _required(tables: Sequence[Table], found: Found) -> set[str]:
    """A merge's own set: what one reader names is required for all."""
    sets = (found[table.name].required for table in tables if table.name in found)
    return next((required for required in sets if required is not None), set())


def _merged_on(tables: Sequence[Table], found: Found) -> list[str]:
    """The column by which packets are merged that are read by way of a merge."""
    merges = (found[table.name] for table in tables if table.name in found)
    return [m.columns[m.ordered_by].name for m in merges if m.packets and m.ordered_by is not None]


def _column_of(table: Table, name: str) -> Typed:
    typed = field(table.name, name)
    if typed is None:
        raise KeyError(name)
    return typed


def met_column(left: Typed, right: Typed) -> Typed:
    """A union's column is temporal only if it is so, in one direction, in every input."""
    assert left.type == right.type, (left.type, right.type)
    order = left.order if left.order == right.order else VARYING
    subtype = left.subtype if left.subtype == right.subtype else ""
    clock = left.clock if left.clock == right.clock else ""
    return replace(left, order=order, subtype=subtype, clock=clock)


def _of_either(of_packet: Callable[[Any], Any], of_row: Callable[[Any], Any]) -> Any:
    return lambda row: of_row(row) if isinstance(row, tuple) else of_packet(row)
