# SPDX-License-Identifier: Apache-2.0
"""A query set over packets: the rows of every query (GSQL §6, OPERATORS §5)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count, groupby, product
from typing import Any

from tests.answers.reference.aggregates import NAMES, Aggregate
from tests.answers.reference.binder import Binder
from tests.answers.reference.filters import FilterReader
from tests.answers.reference.inputs import Captures, InputReader
from tests.answers.reference.joins import JoinReader
from tests.answers.reference.merges import is_by_names, merge, readers_of
from tests.answers.reference.parser import parse_set
from tests.answers.reference.running import MAX_SILENCE, Members, going_on, step_of
from tests.answers.reference.sampling import AtHand, Met, Sampling, asks_supergroup, samples
from tests.answers.reference.sources import (
    DEFAULT_INTERFACE,
    Answer,
    Column,
    Row,
    Source,
    Tuple,
    View,
)
from tests.answers.reference.syntax import (
    Call,
    Item,
    Literal,
    Name,
    Node,
    Operation,
    Query,
    conjuncts_of,
    inputs_of,
    names_of,
    names_shown,
    parts_of,
)
from tests.answers.reference.typed import DECREASING, Typed, at, passed_on, settled, timed
from tests.answers.reference.types import NoValueError
from tests.answers.reference.watchlists import ListReader
from tests.answers.reference.windows import COLUMNS as WINDOW_COLUMNS
from tests.answers.reference.windows import Windows, windows_of
from tests.models.order import OrderKey, sort_rows

__all__ = ["DEFAULT_INTERFACE", "Answer", "Source", "answers"]


def answers(
    text: str,
    sources: Sequence[Source],
    first_name: str = "query",
    streams: Mapping[str, Answer] | None = None,
) -> dict[str, Answer]:
    """The answers of all queries of a set, by name; `streams` are its STREAMs (records.py)."""
    queries = parse_set(text)
    names = [query.options.get("query_name", first_name) for query in queries]
    by_name = dict(zip(names, queries, strict=True))
    readers = {name: readers_of(name, queries) for name, q in by_name.items() if q.merged}
    merges = {name: set[str]() for name, of in readers.items() if is_by_names(by_name[name], of)}
    given = streams or {}
    found = _all(by_name, sources, merges, given)
    if any(len(readers[name]) > 1 for name in merges):
        found = _all(by_name, sources, merges, given)  # now all that any reader names is known
    return {name: found[name] for name in names}


def _all(
    queries: Mapping[str, Query],
    sources: Sequence[Source],
    merges: Mapping[str, set[str]],
    streams: Mapping[str, Answer],
) -> dict[str, Answer]:
    found = dict(streams)
    waiting = dict(queries)
    while waiting:
        ready = [n for n, q in waiting.items() if not _read(q) & waiting.keys()]
        for name in ready:
            query = waiting.pop(name)
            captures = Captures(sources, View.of(query.options))
            found[name] = _answer(query, captures, found, merges.get(name))
    return found


def _answer(
    query: Query, captures: Captures, found: Mapping[str, Answer], required: set[str] | None
) -> Answer:
    answer = (
        merge(query, captures, found, required)
        if query.merged
        else _Evaluation(query, captures, found).answer()
    )
    return replace(answer, is_output=query.options.get("visibility", "external") == "external")


class _Evaluation:
    """One query."""

    def __init__(self, query: Query, captures: Captures, found: Mapping[str, Answer]) -> None:
        self.query = query
        self.parameters = {**_defines(query), **query.parameters}
        self.variables: dict[str, Typed] = {}
        self.at_hand = AtHand()
        self.group_by = query.items if query.distinct else query.group_by
        self.filter: FilterReader | None = None
        inputs = [InputReader(item, captures, found) for item in inputs_of(query.source)]
        self.source = self._reader(inputs)
        self.windows: Windows | None = None
        if query.window is not None:
            self.windows = windows_of(query.window, self.source)

    def _reader(self, inputs: list[InputReader]) -> InputReader | JoinReader | ListReader:
        query = self.query
        if query.listed:
            return ListReader(*inputs)
        if query.filtered is not None:
            column, ticks = query.filtered
            self.filter = FilterReader(*inputs, column.name, ticks)
        if len(inputs) == 1 or query.filtered is not None:
            return inputs[0]
        named = {item.name: item.expression for item in query.group_by if item.name}
        variables = {} if query.distinct else named
        is_zero = query.options.get("outer_default") == "zero"
        return JoinReader(query.source, inputs, query.where, variables, pads_with_zero=is_zero)

    def answer(self) -> Answer:
        """Its columns and rows."""
        is_aggregation = bool(self.group_by) or any(map(_has_aggregate, self.query.items))
        return self._aggregation() if is_aggregation else self._selection()

    # What names mean

    def _column(self, name: Name) -> Typed:
        return self.source.column(name)

    def _row_name(self, name: Name) -> Typed:
        """In WHERE and inside of aggregates: group variables go before columns."""
        if name.qualifier or self.query.distinct:
            return self._column(name)
        return self.variables.get(name.name) or self._column(name)

    # Tuples

    def _where(self) -> Iterator[Tuple]:
        binder = Binder(self._row_name, self.parameters)
        if self.filter is not None:
            found = self.filter
            pairs = Binder(lambda name: found.resolve(name, self._row_name), self.parameters)
            return found.tuples(self.query.where, pairs.typed)
        if isinstance(self.source, ListReader):
            return self.source.tuples(self.query.where, binder.typed)
        if isinstance(self.source, JoinReader):
            return (Tuple((), row) for row in self.source.rows(binder.typed))
        parts = [part for part in conjuncts_of(self.query.where) if not asks_supergroup(part)]
        condition = binder.typed(Operation("AND", tuple(parts))) if parts else None
        return _selected(condition, self.source.tuples())

    # Selection

    def _selection(self) -> Answer:
        binder = Binder(self._column, self.parameters)
        items = self.query.items
        columns = self._columns(binder, items) if items else self.source.star()
        rows = list(_valued((c.typed for c in columns), self._where_rows()))
        return Answer(columns, rows[: self.query.limit])  # of one source: the first that come

    def _where_rows(self) -> Iterator[Any]:
        return (item.row for item in self._where())

    def _columns(self, binder: Binder, items: Sequence[Item]) -> tuple[Column, ...]:
        return tuple(
            Column(name, settled(binder.typed(item.expression)))
            for name, item in zip(names_shown(items), items, strict=True)
        )

    # Aggregation: rows of groups are (variables …, window, set, aggregates …); most have no window,
    # and no grouping sets

    def _aggregation(self) -> Answer:
        self._bind_variables()
        query, calls = self.query, _Calls(self._width_of_keys())
        over_groups = self._group_binder(calls)
        columns = self._group_columns(over_groups)
        having = self._condition(query.having, over_groups, columns)
        closes = self._condition(query.closing_when, over_groups, columns)
        keys = self._order_keys(over_groups, columns)
        per = [_with_names(over_groups, columns).typed(node) for node in query.per]
        kept: Iterable[Row]
        if samples(query):
            kept = self._sampled(calls, over_groups, having, columns)
        else:
            groups = self._groups(calls) if closes is None else self._going_on(calls, closes)
            kept = [group for group in groups if _is_kept(having, group)]
        extra = [*(key for key, _ in keys), *per, *self._closed_by()]
        width = len(columns)
        rows = list(_valued([*(c.typed for c in columns), *extra], kept))
        if not query.order_by:
            return Answer(columns, [row[:width] for row in rows])
        order = [OrderKey(width + at, down) for at, (_, down) in enumerate(keys)]
        return Answer(columns, _first_of_windows(rows, width, order, len(per), query.limit))

    def _width_of_keys(self) -> int:
        return len(self.group_by) + (self.windows is not None) + bool(self.query.sets)

    def _closed_by(self) -> list[Typed]:
        """What tells closed windows apart."""
        own = [] if self.windows is None else [Typed("llong", at(len(self.group_by)))]
        return [*own, *(typed for typed in self._references() if typed.is_temporal)]

    def _group_columns(self, binder: Binder) -> tuple[Column, ...]:
        """Of SELECT DISTINCT the columns are the groups."""
        if not self.query.distinct:
            return self._columns(binder, self.query.items)
        pairs = zip(self.query.items, self._references(), strict=True)
        return tuple(Column(item.name, reference) for item, reference in pairs)

    def _bind_variables(self) -> None:
        binder = Binder(self._column, self.parameters)
        items = [self._meant(item) for item in self.group_by]
        for name, item in zip(names_shown(items), items, strict=True):
            self.variables[name or repr(item.expression)] = binder.typed(item.expression)

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
        return [passed_on(typed, index) for index, typed in enumerate(self.variables.values())]

    def _grouping(self, variables: Sequence[Node]) -> Typed:
        """A bit for each, the last one's the lowest: set where a group's set is without it."""
        expressions = [self._meant(item).expression for item in self.group_by]
        places = [
            self._names().index(node.name)
            if isinstance(node, Name) and node.name in self._names()
            else expressions.index(node)
            for node in variables
        ]
        at_set = self._width_of_keys() - 1

        def read(row: Row) -> int:
            have = row[at_set] if self.query.sets else places
            return sum((place not in have) << bit for bit, place in enumerate(reversed(places)))

        return Typed("uint", read)

    def _names(self) -> list[str]:
        return names_shown([self._meant(item) for item in self.group_by])

    def _group_binder(self, calls: _Calls) -> Binder:
        groups = self._references()
        references: dict[str, Typed] = {}
        if self.windows is not None:
            for name in WINDOW_COLUMNS:
                references[name] = self.windows.column(name, len(self.group_by))
        references |= zip(self.variables, groups, strict=True)
        grouped: dict[Node, Typed] = {}
        for item, reference in zip(self.group_by, groups, strict=True):
            expression = self._meant(item).expression
            if not names_of(expression) & references.keys():
                grouped[expression] = reference

        def resolve(name: Name) -> Typed:
            return references[name.name]

        return Binder(
            *(resolve, self.parameters, calls.collect, self._row_name, grouped, self._grouping),
            self.at_hand,
        )

    def _condition(
        self, node: Node | None, binder: Binder, columns: Sequence[Column]
    ) -> Typed | None:
        return None if node is None else _with_names(binder, columns).typed(node)

    def _order_keys(self, binder: Binder, columns: Sequence[Column]) -> list[tuple[Typed, bool]]:
        named = _with_names(binder, columns)
        return [(named.typed(item.expression), item.descending) for item in self.query.order_by]

    def _groups(self, calls: _Calls) -> list[Row]:
        """What the tuples of each group give."""
        return [
            (*key, *row)
            for key, found in self._members(calls).items()
            for row in _results(calls.found, found)
        ]

    def _going_on(self, calls: _Calls, closes: Typed) -> list[Row]:
        """The same of groups that go on from window to window."""
        if self.windows is not None:
            place, steps = len(self.group_by), 1
        else:
            order = [typed.order for typed in self._references()]
            place = next(at for at, typed in enumerate(self._references()) if typed.is_temporal)
            steps = step_of(self._meant(self.group_by[place]).expression)
            steps = -steps if order[place] == DECREASING else steps

        def results(history: list[Members]) -> Row:
            return _over(calls.found, history)

        def is_closed(row: Row) -> bool:
            return closes.read(row) is True

        most = int(self.query.options.get("max_silence", MAX_SILENCE))
        return list(going_on(self._members(calls), place, steps, most, results, is_closed))

    def _sampled(
        self, calls: _Calls, binder: Binder, having: Typed | None, columns: Sequence[Column]
    ) -> Iterator[Row]:
        """The groups of a sample, each while its supergroup is at hand."""
        query, names = self.query, [name.lower() for name in self._names()]
        of_rows = replace(binder, resolve=self._row_name, grouped={})
        asked = [part for part in conjuncts_of(query.where) if asks_supergroup(part)]
        if self.windows is not None:
            window = len(self.group_by)
        else:
            window = next(at for at, typed in enumerate(self._references()) if typed.is_temporal)
        self.at_hand.results = lambda rows: _of_each(calls.found, rows)
        sampling = Sampling(
            at_hand=self.at_hand,
            admission=[of_rows.typed(part) for part in asked],
            cleaning_when=self._condition(query.cleaning_when, binder, columns),
            cleaning_by=self._condition(query.cleaning_by, binder, columns),
            having=having,
            arguments=[call.argument for call in calls.found if call.argument is not None],
            window=window,
            supergroup=[names.index(name.lower()) for name in query.supergroup],
        )
        return sampling.groups(self._in_order())

    def _in_order(self) -> Iterator[tuple[Row, Met]]:
        """The rows by what orders them, each behind the key of its group."""
        keys = list(map(timed, self.variables.values()))
        for item in sorted(self._where(), key=lambda item: item.place):
            for key in _valued(keys, [item.row]):
                for window in self._windows_of(item):
                    yield (*key, *window), Met(item.place, item.row)

    def _members(self, calls: _Calls) -> dict[Row, Members]:
        """The tuples of each group: a tuple without a value for any of it is dropped."""
        arguments = [call.argument for call in calls.found]
        keys = map(timed, self.variables.values())
        read = [*keys, *(a for a in arguments if a is not None)]
        members: dict[Row, Members] = {}
        width = len(self.variables)
        if not self._width_of_keys():
            members[()] = []  # as in SQL: one row, whatever comes
        for item in self._where():
            for values in _valued(read, [item.row]):
                for window, group in product(self._windows_of(item), self._sets_of(values[:width])):
                    key = (*group[:width], *window, *group[width:])
                    members.setdefault(key, []).append((item.place, values[width:]))
        return members

    def _sets_of(self, variables: Row) -> list[Row]:
        """The groups of a row, each with its set behind it where there are several."""
        return [
            (*(value if at in have else None for at, value in enumerate(variables)), have)
            for have in self.query.sets
        ] or [variables]

    def _windows_of(self, item: Tuple) -> Iterable[Row]:
        """What a group's key has of the windows that a row is in."""
        if self.windows is None:
            return [()]
        return ((window,) for window in self.windows.of(item))


class _Calls:
    """The distinct aggregates of a query, whose results stand behind the group variables."""

    def __init__(self, first: int) -> None:
        self._first = first
        self._by_call: dict[Call, int] = {}
        self.found: list[Aggregate] = []

    def collect(self, call: Call, aggregate: Aggregate) -> Typed:
        index = self._by_call.setdefault(call, len(self.found))
        if index == len(self.found):
            self.found.append(aggregate)
        return Typed(aggregate.type, at(self._first + index), subtype=aggregate.subtype)


def _results(calls: Sequence[Aggregate], members: Members) -> Iterator[Row]:
    read = _read_by(calls)
    try:
        yield tuple(call.result(values(members)) for call, values in zip(calls, read, strict=True))
    except NoValueError:
        return


def _of_each(calls: Sequence[Aggregate], rows: Sequence[Met]) -> Row:
    members = [(met.place, met.values) for met in rows]
    read = zip(calls, _read_by(calls), strict=True)
    return tuple(call.result(values(members)) for call, values in read)


def _over(calls: Sequence[Aggregate], history: Sequence[Members]) -> Row:
    """Of a group that goes on: the tuples of each window since it began."""
    found = []
    for call, values in zip(calls, _read_by(calls), strict=True):
        assert call.over is not None
        found.append(call.over([values(members) for members in history]))
    return tuple(found)


def _read_by(calls: Sequence[Aggregate]) -> list[Callable[[Members], Sequence[Any]]]:
    """What each aggregate looks at of a group's tuples."""
    places = count()
    return [_values(None if call.argument is None else next(places)) for call in calls]


def _values(at: int | None) -> Callable[[Members], Sequence[Any]]:
    if at is None:
        return lambda members: members
    return lambda members: [(place, values[at]) for place, values in members]


def _with_names(binder: Binder, columns: Sequence[Column]) -> Binder:
    """Group variables, then the names of the SELECT list."""
    named = {column.name: column.typed for column in columns}

    def resolve(name: Name) -> Typed:
        try:
            return binder.resolve(name)
        except KeyError:
            return named[name.name]

    return replace(binder, resolve=resolve)


def _is_kept(having: Typed | None, group: Row) -> bool:
    try:
        return having is None or having.read(group) is True
    except NoValueError:
        return False


def _first_of_windows(
    rows: list[Row], width: int, order: Sequence[OrderKey], per: int, limit: int | None
) -> list[Row]:
    """The first rows of every window; behind the output columns stand keys, PER, the window."""
    keys = width + len(order)
    found = []
    by_window = sorted(rows, key=lambda row: row[keys + per :])
    for _, window in groupby(by_window, key=lambda row: row[keys + per :]):
        times: Counter[Row] = Counter()
        for row in _sorted_by_output(list(window), width, order):
            times[row[keys : keys + per]] += 1
            if limit is None or times[row[keys : keys + per]] <= limit:
                found.append(row[:width])
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


def _selected(condition: Typed | None, tuples: Iterable[Tuple]) -> Iterator[Tuple]:
    for item in tuples:
        try:
            if condition is None or condition.read(item.row) is True:
                yield item
        except NoValueError:
            continue


def _read(query: Query) -> set[str]:
    return {table.name for table in query.tables()}


def _defines(query: Query) -> dict[str, Literal]:
    return {name: Literal("string", value.encode()) for name, value in query.options.items()}


def _has_aggregate(item: Item) -> bool:
    return any(isinstance(n, Call) and n.name in NAMES for n in parts_of(item.expression))
