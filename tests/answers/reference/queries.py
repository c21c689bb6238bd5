# SPDX-License-Identifier: Apache-2.0
"""A query set over packets: the rows of every query (GSQL §6, OPERATORS §5)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from tests.answers.reference.aggregates import NAMES, Aggregate
from tests.answers.reference.binder import Binder
from tests.answers.reference.fields import field
from tests.answers.reference.parser import parse_set
from tests.answers.reference.syntax import (
    Call,
    Item,
    Literal,
    Name,
    Node,
    Query,
    Table,
    names_of,
    parts_of,
)
from tests.answers.reference.typed import VARYING, Typed, settled
from tests.answers.reference.types import NoValueError
from tests.models.order import OrderKey, sort_rows
from tests.oracle.packet import FieldAbsentError, Packet
from tests.oracle.query import Decoded
from tests.oracle.values import Inet, Ip, Ipv6, Mac, Timestamp

Row = tuple[Any, ...]
DEFAULT_INTERFACE = "default"
SHOWN = {"IP": Ip, "IPV6": Ipv6, "INET": Inet, "timestamp": Timestamp}


@dataclass(frozen=True)
class Tuple:
    """A row of the input behind what orders it for FIRST and LAST."""

    place: tuple[Any, ...]
    row: Any


class Source:
    """A capture, taken apart, and the interface that it is read for."""

    def __init__(self, decoded: Decoded, interface: str = DEFAULT_INTERFACE) -> None:
        self.interface = interface
        self._decoded = decoded
        self._tuples: dict[str, list[Tuple]] = {}

    def tuples(self, protocol: str) -> list[Tuple]:
        """Its packets of a protocol, each behind (timestamp, position in the source)."""
        if protocol not in self._tuples:
            self._tuples[protocol] = list(self._as_protocol(protocol))
        return self._tuples[protocol]

    def _as_protocol(self, protocol: str) -> Iterator[Tuple]:
        for layers in self._decoded.layers:
            packet = layers.as_protocol(protocol)
            if packet is not None:
                record = layers.record
                packet["interface"] = (record.interface_name or self.interface).encode()
                yield Tuple((record.timestamp_ns, record.index), packet)


@dataclass(frozen=True)
class Column:
    """A column of an answer."""

    name: str
    typed: Typed


@dataclass(frozen=True)
class Answer:
    """The rows of a query, in no order."""

    columns: tuple[Column, ...]
    rows: list[Row]
    is_output: bool = True

    def shown(self) -> list[Row]:
        """The rows in values that print as the command line prints them."""
        makers = [_maker(column.typed) for column in self.columns]
        return [
            tuple(
                value if make is None or value is None else make(value)
                for make, value in zip(makers, row, strict=True)
            )
            for row in self.rows
        ]


def _maker(typed: Typed) -> Any:
    return Mac if typed.subtype == "mac" else SHOWN.get(typed.type)


def answers(text: str, sources: Sequence[Source], first_name: str = "query") -> dict[str, Answer]:
    """The answers of all queries of a set, by name."""
    queries = parse_set(text)
    names = [query.options.get("query_name", first_name) for query in queries]
    found: dict[str, Answer] = {}
    waiting = dict(zip(names, queries, strict=True))
    while waiting:
        ready = [n for n, q in waiting.items() if not {t.name for t in q.tables} & waiting.keys()]
        for name in ready:
            found[name] = _Evaluation(waiting.pop(name), sources, found).answer()
    return {name: found[name] for name in names}


class _Evaluation:
    """One query."""

    def __init__(
        self, query: Query, sources: Sequence[Source], found: Mapping[str, Answer]
    ) -> None:
        self.query = query
        self.sources = sources
        self.inputs = [found.get(table.name) for table in query.tables]
        self.named: set[str] = set()
        """The fields that the text names."""
        self.parameters = {**_defines(query), **query.parameters}
        self.variables: dict[str, Typed] = {}
        self.group_by = query.items if query.distinct else query.group_by

    def answer(self) -> Answer:
        query = self.query
        is_aggregation = bool(self.group_by) or any(map(_has_aggregate, query.items))
        answer = self._aggregation() if is_aggregation else self._selection()
        is_output = query.options.get("visibility", "external") == "external"
        return Answer(answer.columns, answer.rows, is_output)

    # What names mean

    def _column(self, name: Name) -> Typed:
        """A column of the sources; of a union the first's, which all have."""
        first = self.inputs[0]
        if first is not None:
            return _column_of(first, name.name)
        typed = field(self.query.tables[0].name, name.name)
        if typed is None:
            raise KeyError(name.name)
        self.named.add(name.name)
        return typed

    def _row_name(self, name: Name) -> Typed:
        """In WHERE and inside of aggregates: group variables go before columns."""
        if name.qualifier or self.query.distinct:
            return self._column(name)
        return self.variables.get(name.name) or self._column(name)

    # Tuples

    def _tuples(self) -> Iterator[Tuple]:
        for table, answer in zip(self.query.tables, self.inputs, strict=True):
            if answer is None:
                yield from self._packets(table)
            else:
                yield from _rows_of(answer)

    def _packets(self, table: Table) -> Iterator[Tuple]:
        interfaces = list(dict.fromkeys(source.interface for source in self.sources))
        for source in self.sources:
            if table.interface in ("", source.interface):
                ordinal = interfaces.index(source.interface)
                for found in source.tuples(table.name):
                    if self._has_all(found.row):
                        timestamp, position = found.place
                        yield Tuple((timestamp, ordinal, position), found.row)

    def _has_all(self, packet: Packet) -> bool:
        try:
            for name in self.named:
                packet[name]
        except FieldAbsentError:
            return False
        return True

    def _where(self) -> Iterator[Tuple]:
        condition = None
        if self.query.where is not None:
            condition = Binder(self._row_name, self.parameters).typed(self.query.where)
        for item in self._tuples():
            try:
                if condition is None or condition.read(item.row) is True:
                    yield item
            except NoValueError:
                continue

    # Selection

    def _selection(self) -> Answer:
        binder = Binder(self._column, self.parameters)
        columns = self._columns(binder, self.query.items) if self.query.items else self._star()
        rows = list(_valued((c.typed for c in columns), self._where_rows()))
        return Answer(columns, rows[: self.query.limit])  # of one source: the first that come

    def _where_rows(self) -> Iterator[Any]:
        return (item.row for item in self._where())

    def _star(self) -> tuple[Column, ...]:
        first = self.inputs[0]
        assert first is not None, "SELECT * of packets is not in the reference"
        return tuple(Column(c.name, _column_of(first, c.name)) for c in first.columns)

    def _columns(self, binder: Binder, items: Iterable[Item]) -> tuple[Column, ...]:
        return tuple(Column(item.name, settled(binder.typed(item.expression))) for item in items)

    # Aggregation: rows of groups are (variables …, aggregates …)

    def _aggregation(self) -> Answer:
        self._bind_variables()
        query, calls = self.query, _Calls(len(self.group_by))
        over_groups = self._group_binder(calls)
        columns = self._group_columns(over_groups)
        having = self._having(over_groups, columns)
        keys = self._order_keys(over_groups, columns)
        groups = self._groups(calls)
        kept = [group for group in groups if _is_kept(having, group)]
        windows = [typed for typed in self._references() if typed.is_temporal]
        extra = [*(key for key, _ in keys), *windows]
        width = len(columns)
        rows = list(_valued([*(c.typed for c in columns), *extra], kept))
        if not query.order_by:
            return Answer(columns, [row[:width] for row in rows])
        order = [OrderKey(width + at, down) for at, (_, down) in enumerate(keys)]
        return Answer(columns, _first_of_windows(rows, width, order, query.limit))

    def _group_columns(self, binder: Binder) -> tuple[Column, ...]:
        """Of SELECT DISTINCT the columns are the groups."""
        if not self.query.distinct:
            return self._columns(binder, self.query.items)
        pairs = zip(self.query.items, self._references(), strict=True)
        return tuple(Column(item.name, reference) for item, reference in pairs)

    def _bind_variables(self) -> None:
        binder = Binder(self._column, self.parameters)
        for item in self.group_by:
            item = self._meant(item)
            self.variables[item.name or repr(item.expression)] = binder.typed(item.expression)

    def _meant(self, item: Item) -> Item:
        """`GROUP BY tb` may name a column of the SELECT list if no source has it."""
        if isinstance(item.expression, Name):
            try:
                self._column(item.expression)
            except KeyError:
                named = {i.name: i for i in self.query.items}
                return named[item.expression.name]
        return item

    def _references(self) -> list[Typed]:
        return [_passed_on(typed, index) for index, typed in enumerate(self.variables.values())]

    def _group_binder(self, calls: _Calls) -> Binder:
        references = dict(zip(self.variables, self._references(), strict=True))
        grouped: dict[Node, Typed] = {}
        for item, reference in zip(self.group_by, references.values(), strict=True):
            expression = self._meant(item).expression
            if not names_of(expression) & references.keys():
                grouped[expression] = reference

        def resolve(name: Name) -> Typed:
            return references[name.name]

        return Binder(resolve, self.parameters, calls.collect, self._row_name, grouped)

    def _having(self, binder: Binder, columns: Sequence[Column]) -> Typed | None:
        if self.query.having is None:
            return None
        return _with_names(binder, columns).typed(self.query.having)

    def _order_keys(self, binder: Binder, columns: Sequence[Column]) -> list[tuple[Typed, bool]]:
        named = _with_names(binder, columns)
        return [(named.typed(item.expression), item.descending) for item in self.query.order_by]

    def _groups(self, calls: _Calls) -> list[Row]:
        """What the tuples of each group give; a tuple without a value for any of it is dropped."""
        arguments = [call.argument for call in calls.found]
        read = [*self.variables.values(), *(a for a in arguments if a is not None)]
        members: dict[Row, list[tuple[Any, Row]]] = {}
        count = len(self.variables)
        if not self.group_by:
            members[()] = []  # as in SQL: one row, whatever comes
        for item in self._where():
            for values in _valued(read, [item.row]):
                members.setdefault(values[:count], []).append((item.place, values[count:]))
        return [
            (*key, *row)
            for key, found in members.items()
            for row in _results(calls.found, arguments, found)
        ]


class _Calls:
    """The distinct aggregates of a query, whose results stand behind the group variables."""

    def __init__(self, first: int) -> None:
        self._first = first
        self._by_call: dict[Call, int] = {}
        self.found: list[Aggregate] = []

    def collect(self, call: Call, aggregate: Aggregate) -> Typed:
        at = self._by_call.setdefault(call, len(self.found))
        if at == len(self.found):
            self.found.append(aggregate)
        return Typed(aggregate.type, _at(self._first + at), subtype=aggregate.subtype)


def _results(
    calls: Sequence[Aggregate], arguments: Sequence[Typed | None], members: list[tuple[Any, Row]]
) -> Iterator[Row]:
    results, at = [], 0
    try:
        for call, argument in zip(calls, arguments, strict=True):
            if argument is None:
                results.append(call.result(members))
            else:
                results.append(call.result([(place, values[at]) for place, values in members]))
                at += 1
    except NoValueError:
        return
    yield tuple(results)


def _with_names(binder: Binder, columns: Sequence[Column]) -> Binder:
    """Group variables, then the names of the SELECT list."""
    named = {column.name: column.typed for column in columns}

    def resolve(name: Name) -> Typed:
        try:
            return binder.resolve(name)
        except KeyError:
            return named[name.name]

    return Binder(resolve, binder.parameters, binder.collect, binder.rows, binder.grouped)


def _is_kept(having: Typed | None, group: Row) -> bool:
    try:
        return having is None or having.read(group) is True
    except NoValueError:
        return False


def _first_of_windows(
    rows: list[Row], width: int, order: Sequence[OrderKey], limit: int | None
) -> list[Row]:
    """The first rows of every window; what comes behind the output columns decides, and them."""
    place = width + len(order)
    found = []
    by_window = sorted(rows, key=lambda row: row[place:])
    for _, window in groupby(by_window, key=lambda row: row[place:]):
        shown = [(*row[:width], *row[width:place]) for row in window]
        ordered = _sorted_by_output(shown, width, order)
        found += [row[:width] for row in ordered[:limit]]
    return found


def _sorted_by_output(rows: list[Row], width: int, order: Sequence[OrderKey]) -> list[Row]:
    ties = [OrderKey(at) for at in range(width)]
    return sort_rows(rows, [*order, *ties])


def _valued(read: Iterable[Typed], rows: Iterable[Any]) -> Iterator[Row]:
    """The values for each row that has them all."""
    readers = [typed.read for typed in read]
    for row in rows:
        try:
            values = tuple([reader(row) for reader in readers])
        except NoValueError:
            continue
        yield values


def _passed_on(typed: Typed, index: int) -> Typed:
    """A column of a row that holds the values of an expression."""
    order = typed.order if typed.is_temporal else VARYING
    return Typed(typed.type, _at(index), order, subtype=typed.subtype)


def _at(index: int) -> Any:
    return lambda row: row[index]


def _column_of(answer: Answer, name: str) -> Typed:
    for index, column in enumerate(answer.columns):
        if column.name == name:
            return _passed_on(column.typed, index)
    raise KeyError(name)


def _rows_of(answer: Answer) -> Iterator[Tuple]:
    """Rows of a query come by their first temporal column; the value decides between equals."""
    temporal = [at for at, column in enumerate(answer.columns) if column.typed.is_temporal]
    for row in answer.rows:
        yield Tuple((row[temporal[0]],) if temporal else (), row)


def _defines(query: Query) -> dict[str, Literal]:
    return {name: Literal("string", value.encode()) for name, value in query.options.items()}


def _has_aggregate(item: Item) -> bool:
    return any(isinstance(n, Call) and n.name in NAMES for n in parts_of(item.expression))
