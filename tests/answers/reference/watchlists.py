# SPDX-License-Identifier: Apache-2.0
"""WATCHLIST_JOIN: packets, each with the row that a list has of them (GSQL §6, item 10)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from tests.answers.reference.conditions import comparison, in_prefix
from tests.answers.reference.inputs import InputReader
from tests.answers.reference.sources import Answer, Column, Row, Tuple
from tests.answers.reference.syntax import Name, Node, Operation, Prefix, conjuncts_of, parts_of
from tests.answers.reference.typed import Typed
from tests.answers.reference.types import ADDRESSES, NoValueError


@dataclass(frozen=True)
class Listed(Answer):
    """The rows of a list; of two with the same keys the last counts."""

    keys: frozenset[str] = frozenset()
    lengths: tuple[tuple[int, ...], ...] = ()
    """Of every row: how many bits count of its addresses that are keys, in their order."""


class ListReader:
    """Packets and a list: rows are pairs of a packet and of the list's row."""

    def __init__(self, packets: InputReader, rows: InputReader) -> None:
        self._packets = packets
        self._rows = rows
        (self._list,) = (answer for answer in rows.queries if isinstance(answer, Listed))

    def column(self, name: Name) -> Typed:
        """A column of either. KeyError if there is none."""
        if self._is_list(name):
            return _of_pair(self._rows.column(name), 1)
        return _of_pair(self._packets.column(name), 0)

    def _is_list(self, name: Name) -> bool:
        if name.qualifier:
            return self._rows.answers_to(name.qualifier)
        return self._rows.has(name.name)

    def has(self, name: str) -> bool:
        """Whether either has a column of that name."""
        return self._rows.has(name) or self._packets.has(name)

    def clocks(self) -> Iterator[Name]:
        """The packets'."""
        return self._packets.clocks()

    def star(self) -> tuple[Column, ...]:
        """What `*` stands for."""
        raise NotImplementedError("a * of packets and a list")

    def tuples(self, where: Node | None, typed: Callable[[Node], Typed]) -> Iterator[Tuple]:
        """The packets that the list has and of which the rest of WHERE is true."""
        looked_up = {key: found for node in conjuncts_of(where) for key, found in self._key(node)}
        rest = [node for node in conjuncts_of(where) if not list(self._key(node))]
        assert looked_up.keys() == self._list.keys
        condition = typed(Operation("AND", tuple(rest))) if rest else None
        keys = {key: typed(node) for key, node in looked_up.items()}
        tests = self._tests(keys)
        for item in self._packets.tuples():
            try:
                row = self._row_of(item, tests)
                pair = (item.row, row)
                if row is not None and (condition is None or condition.read(pair) is True):
                    yield replace(item, row=pair)
            except NoValueError:
                continue

    def _key(self, node: Node) -> Iterator[tuple[str, Node]]:
        """The key column that a condition equates, and what of the packet it is."""
        if not (isinstance(node, Operation) and node.operator == "="):
            return
        for own, other in (node.operands, node.operands[::-1]):
            names = [part for part in parts_of(other) if isinstance(part, Name)]
            if not (isinstance(own, Name) and self._is_list(own)) or any(map(self._is_list, names)):
                continue
            if own.name in self._list.keys:
                yield own.name, other

    def _tests(self, keys: dict[str, Typed]) -> list[tuple[tuple[int, ...], list[Typed], Row]]:
        """Of every row: how long its prefixes are, what a packet's keys must be, and the row."""
        columns = [column for column in self._list.columns if column.name in keys]
        found = []
        for row, lengths in zip(self._list.rows, self._list.lengths, strict=True):
            bits = iter(lengths)
            tests = []
            for column in columns:
                value, key = row[self._list.place(column.name)], keys[column.name]
                if column.typed.type in ADDRESSES:
                    tests.append(in_prefix(key, Prefix(value, next(bits))))
                else:
                    cell = Typed(column.typed.type, lambda pair, value=value: value)
                    tests.append(comparison("=", key, cell))
            found.append((lengths, tests, row))
        return found

    @staticmethod
    def _row_of(item: Tuple, tests: list[tuple[tuple[int, ...], list[Typed], Row]]) -> Row | None:
        """The row of the longest prefixes, the first key's first; of equal ones the last."""
        best: tuple[tuple[int, ...], Row] | None = None
        for lengths, conditions, row in tests:
            if all(condition.read((item.row, None)) is True for condition in conditions):
                best = (lengths, row) if best is None or lengths >= best[0] else best
        return None if best is None else best[1]


def _of_pair(typed: Typed, side: int) -> Typed:
    return replace(typed, read=lambda pair: typed.read(pair[side]))
