# SPDX-License-Identifier: Apache-2.0
"""Joins (GSQL §6, item 8): every pair of rows is looked at, apart from what an equality rules out.

A joined row is a tuple of the columns that the query's text names, those of an absent side NULL,
and, behind them, for each column whether it has a value of a side that is present.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tests.answers.reference.conditions import comparable
from tests.answers.reference.inputs import InputReader
from tests.answers.reference.sources import Column, Row
from tests.answers.reference.syntax import (
    From,
    Input,
    Join,
    Name,
    Node,
    Operation,
    conjuncts_of,
    inputs_of,
    parts_of,
)
from tests.answers.reference.typed import VARYING, Typed, at
from tests.answers.reference.types import NoValueError, Value, convert, holds_all, zero
from tests.answers.reference.windows import tick_ns

Key = tuple[int, str]
"""A column: its source's number, and its name."""
Bind = Callable[[Node], Typed]
KEEPS = {"INNER": "", "LEFT_OUTER": "l", "RIGHT_OUTER": "r", "OUTER": "lr"}


@dataclass
class _Leaf:
    """A source, and the conditions that select its rows before they are joined."""

    source: int
    where: list[Node]

    @property
    def sources(self) -> set[int]:
        return {self.source}


@dataclass
class _Step:
    """Two sides, what makes a pair of their rows match, and what filters the joined rows."""

    keeps: str
    left: _Leaf | _Step
    right: _Leaf | _Step
    matches: list[Node]
    where: list[Node]
    equated: list[tuple[Key, Key]]
    """Plain columns that the predicate equates with plain columns."""
    is_tigon: bool
    """WHERE has the predicate: an equated column takes the present side's value."""

    @property
    def sources(self) -> set[int]:
        return self.left.sources | self.right.sources


class JoinReader:
    """What the names of a join mean, and its rows."""

    def __init__(
        self,
        tree: From,
        readers: Sequence[InputReader],
        where: Node | None,
        variables: Mapping[str, Node],
        *,
        pads_with_zero: bool,
    ) -> None:
        self._readers = readers
        self._variables = variables
        """The expressions of group variables, which WHERE may name."""
        self._pads_with_zero = pads_with_zero
        self._slots: dict[Key, int] = {}
        self._typed: list[Typed] = []
        """Of every slot: what reads it from its source's row."""
        self._equated = _equated_names(tree, where)
        self._plan = self._planned(tree, 0, conjuncts_of(where))

    # What names mean

    def has(self, name: str) -> bool:
        """Whether a source has a column of that name."""
        return any(reader.has(name) for reader in self._readers)

    def column(self, name: Name) -> Typed:
        """A column of joined rows; of several that are equated that of a side that is present.

        KeyError if there is none.
        """
        keys = self._keys(name)
        slots = sorted(map(self._slot, keys), key=self._is_narrow(keys))
        is_one = len(keys) > 1
        orders = [self._order(self._plan, key, is_one=is_one) for key in keys]
        moving = [order for order in orders if order != VARYING]
        read = at(slots[0]) if len(slots) == 1 else self._first_of(slots)
        typed = self._typed[slots[0]]
        if len(slots) == 1:
            typed = self._typed[self._slot(self._source_of(self._plan, keys[0]))]
        return replace(typed, read=read, order=[*moving, VARYING][0])

    def _source_of(self, plan: _Leaf | _Step, key: Key) -> Key:
        """The column that a column is: of equated ones, where one side is kept, that side's."""
        if isinstance(plan, _Leaf):
            return key
        is_left = key[0] in plan.left.sources
        own, other = (plan.left, plan.right) if is_left else (plan.right, plan.left)
        found = self._source_of(own, key)
        if plan.is_tigon and plan.keeps == ("r" if is_left else "l"):
            partners = [b if a == found else a for a, b in plan.equated if found in (a, b)]
            return self._source_of(other, partners[0]) if partners else found
        return found

    def _is_narrow(self, keys: Sequence[Key]) -> Callable[[int], bool]:
        """Tells of a slot whether its type lacks values that another of these columns can have."""
        types = [self._typed[self._slot(key)].type for key in keys]
        return lambda slot: not all(holds_all(self._typed[slot].type, type_) for type_ in types)

    def _first_of(self, slots: Sequence[int]) -> Callable[[Row], Value]:
        """What reads of several columns that are one what a side has that is there."""
        own = self._typed[slots[0]].type

        def read(row: Row) -> Value:
            there = [slot for slot in slots if row[len(self._slots) + slot]]
            valued = [slot for slot in there if row[slot] is not None]
            slot = [*valued, *there, *slots][0]
            return convert(row[slot], self._typed[slot].type, own)

        return read

    def star(self) -> tuple[Column, ...]:
        """What `*` stands for: the columns of all sources."""
        found = [
            (reader.shown, column.name, self._whole_column(source, column.name))
            for source, reader in enumerate(self._readers)
            for column in reader.star()
        ]
        counts = Counter(name.lower() for _, name, _ in found)
        return tuple(
            Column(name if counts[name.lower()] == 1 else f"{shown}_{name}", typed)
            for shown, name, typed in found
        )

    def clocks(self) -> Iterator[Name]:
        """The columns that increase in a source; of those that are equated either will do."""
        for reader in self._readers:
            for own in reader.clocks():
                is_one = own.name in self._equated
                yield own if is_one else replace(own, qualifier=reader.shown)

    def _whole_column(self, source: int, name: str) -> Typed:
        slot = self._slot((source, name))
        order = self._order(self._plan, (source, name))
        return replace(self._typed[slot], read=at(slot), order=order)

    def _slot(self, key: Key) -> int:
        if key not in self._slots:
            source, name = key
            self._typed.append(self._readers[source].column(Name(name)))
            self._slots[key] = len(self._slots)
        return self._slots[key]

    def _keys(self, name: Name) -> list[Key]:
        """Which columns are meant: several only where the predicate equates them.

        In a self-join a table's name means the source that has no alias.
        """
        answering = [
            source
            for source, reader in enumerate(self._readers)
            if not name.qualifier or reader.answers_to(name.qualifier)
        ]
        called = [s for s in answering if self._readers[s].shown == name.qualifier]
        found = [s for s in called or answering if self._readers[s].has(name.name)]
        if not found:
            raise KeyError(name.name)
        assert len(found) == 1 or name.name in self._equated, f"{name.name} is ambiguous"
        return [(source, name.name) for source in found]

    def _key(self, name: Name) -> Key:
        return self._keys(name)[0]

    def _sources_of(self, node: Node) -> set[int]:
        """The sources whose columns an expression has."""
        found: set[int] = set()
        for part in parts_of(node):
            if isinstance(part, Name):
                is_variable = not part.qualifier and part.name in self._variables
                own = self._variables[part.name] if is_variable else part
                names = [n for n in parts_of(own) if isinstance(n, Name)]
                found |= {self._key(n)[0] for n in names}
        return found

    def _order(self, plan: _Leaf | _Step, key: Key, *, is_one: bool = False) -> str:
        """A column that may be NULL is varying, unless an equality fills it."""
        if isinstance(plan, _Leaf):
            return self._readers[key[0]].column(Name(key[1])).order
        is_left = key[0] in plan.left.sources
        order = self._order(plan.left if is_left else plan.right, key, is_one=is_one)
        if ("r" if is_left else "l") not in plan.keeps:
            return order
        if not (plan.is_tigon or is_one):
            return VARYING
        partners = [b if a == key else a for a, b in plan.equated if key in (a, b)]
        others = {self._order(plan.right if is_left else plan.left, p) for p in partners}
        return order if order in others else VARYING

    # Which condition stands where

    def _planned(self, tree: From, first: int, where: list[Node]) -> _Leaf | _Step:
        """WHERE filters the rows of what has a condition of its own, and joins what has none.

        `first` is the number of the first source of `tree`.
        """
        if isinstance(tree, Input):
            return _Leaf(first, where)
        behind = first + len(inputs_of(tree.left))
        keeps = KEEPS[tree.kind]
        if tree.condition is not None:
            left, right = self._planned(tree.left, first, []), self._planned(tree.right, behind, [])
            matches = conjuncts_of(tree.condition)
            equated = self._equalities(matches)
            return _Step(keeps, left, right, matches, where, equated, is_tigon=False)
        sides: dict[str, list[Node]] = {"left": [], "right": [], "both": []}
        for conjunct in where:
            sides[self._side(conjunct, behind)].append(conjunct)
        left = self._planned(tree.left, first, sides["left"])
        right = self._planned(tree.right, behind, sides["right"])
        equated = self._equalities(sides["both"])
        return _Step(keeps, left, right, sides["both"], [], equated, is_tigon=True)

    def _side(self, conjunct: Node, behind: int) -> str:
        sources = self._sources_of(conjunct)
        if sources and max(sources) < behind:
            return "left"
        return "right" if sources and min(sources) >= behind else "both"

    def _equalities(self, conjuncts: Sequence[Node]) -> list[tuple[Key, Key]]:
        """The plain columns that are equated with plain columns."""
        names = [c.operands for c in conjuncts if isinstance(c, Operation) and c.operator == "="]
        return [
            (self._key(left), self._key(right))
            for left, right in names
            if isinstance(left, Name) and isinstance(right, Name)
        ]

    # Rows

    def rows(self, bind: Bind) -> list[Row]:
        """The joined rows; `bind` types a condition over them."""
        rows = self._bound(self._plan, bind)()
        if not self._pads_with_zero:
            return rows
        return [self._with_zeros(row) for row in rows]

    def _with_zeros(self, row: Row) -> Row:
        """A row that has nothing absent; NULL that a side has stays, where it fills too."""
        values, present = row[: len(self._slots)], row[len(self._slots) :]
        columns = zip(values, present, self._typed, strict=True)
        filled = (value if is_there else zero(typed.type) for value, is_there, typed in columns)
        return (*filled, *present)

    def _bound(self, plan: _Leaf | _Step, bind: Bind) -> Callable[[], list[Row]]:
        """What gives a plan's rows.

        All conditions are bound before any row is read: then all columns that they name are known.
        """
        where = [bind(node) for node in plan.where]
        if isinstance(plan, _Leaf):
            leaf = plan
            return lambda: [row for row in self._leaf_rows(leaf) if _holds(where, row)]
        left, right = self._bound(plan.left, bind), self._bound(plan.right, bind)
        step = plan
        matches = [*map(bind, plan.matches), *self._of_windows(plan)]
        keys = [pair for node in plan.matches if (pair := self._hashed(plan, node, bind))]
        return lambda: [
            row for row in self._joined(step, left(), right(), keys, matches) if _holds(where, row)
        ]

    def _hashed(self, plan: _Step, node: Node, bind: Bind) -> tuple[Typed, Typed] | None:
        """Both sides of an equality of one side's expression with the other's."""
        if not (isinstance(node, Operation) and node.operator == "="):
            return None
        for one, other in (node.operands, node.operands[::-1]):
            left, right = self._sources_of(one), self._sources_of(other)
            is_apart = left <= plan.left.sources and right <= plan.right.sources
            if left and right and is_apart:
                return comparable(bind(one), bind(other))
        return None

    def _leaf_rows(self, leaf: _Leaf) -> Iterator[Row]:
        own = [key[0] == leaf.source for key in self._slots]
        columns = [t if mine else None for t, mine in zip(self._typed, own, strict=True)]
        for item in self._readers[leaf.source].tuples():
            values = (None if typed is None else typed.read(item.row) for typed in columns)
            yield (*values, *own)

    def _joined(
        self,
        step: _Step,
        left: list[Row],
        right: list[Row],
        keys: Sequence[tuple[Typed, Typed]],
        matches: Sequence[Typed],
    ) -> Iterator[Row]:
        is_right = 2 * [key[0] in step.right.sources for key in self._slots]
        by_key = _by_key([key for _, key in keys], right)
        matched: set[int] = set()
        for row in left:
            found = False
            for number, other in by_key.get(_key([key for key, _ in keys], row), ()):
                pair = tuple(
                    b if mine else a for a, b, mine in zip(row, other, is_right, strict=True)
                )
                if _holds(matches, pair):
                    found = True
                    matched.add(number)
                    yield pair
            if not found and "l" in step.keeps:
                yield self._padded(step, row, step.left.sources)
        if "r" in step.keeps:
            for number, other in enumerate(right):
                if number not in matched:
                    yield self._padded(step, other, step.right.sources)

    def _padded(self, step: _Step, row: Row, present: set[int]) -> Row:
        """A row that matched nothing: its own values stand for what they would equal."""
        values = list(row)
        for linked in self._linked(step):
            known = sorted(key for key in linked if key[0] in present and self._is_there(key, row))
            for key in linked:
                if known and key[0] not in present and key in self._slots:
                    self._fill(step, values, known[0], key)
        return tuple(values)

    def _is_there(self, key: Key, row: Row) -> bool:
        return key in self._slots and bool(row[len(self._slots) + self._slots[key]])

    def _fill(self, step: _Step, values: list[Value], source: Key, key: Key) -> None:
        """In a full join only what the column's type holds, whichever the value is."""
        slot, from_ = self._slots[key], self._slots[source]
        own, other = self._typed[slot].type, self._typed[from_].type
        if step.keeps == "lr" and not holds_all(own, other):
            return
        values[slot] = (
            convert(values[from_], other, own) if holds_all(own, other) else values[from_]
        )
        values[len(self._slots) + slot] = True

    def _linked(self, step: _Leaf | _Step) -> list[set[Key]]:
        """Columns that are one, since outer joins up to here equate them."""
        if isinstance(step, _Leaf):
            return []
        found = [*self._linked(step.left), *self._linked(step.right)]
        for pair in step.equated if step.is_tigon else ():
            touched = [keys for keys in found if keys & set(pair)]
            found = [keys for keys in found if keys not in touched]
            found.append(set(pair).union(*touched))
        return found

    def _of_windows(self, step: _Step) -> Iterator[Typed]:
        """Each input's window holds what of the other is younger by less than its RANGE."""
        for one in sorted(step.left.sources):
            for other in sorted(step.right.sources):
                windows = self._readers[one].window, self._readers[other].window
                if windows[0] is not None and windows[1] is not None:
                    yield self._within(one, other)

    def _within(self, one: int, other: int) -> Typed:
        (own, tick, reach), (others, other_tick, other_reach) = map(self._attribute, (one, other))

        def read(row: Row) -> Value:
            a, b = own.read(row), others.read(row)
            if a is None or b is None:
                return None
            ahead = int(b) * other_tick - int(a) * tick
            return -other_reach < ahead < reach

        return Typed("bool", read)

    def _attribute(self, source: int) -> tuple[Typed, int, int]:
        """The column that a source's window is over, its tick and its RANGE, in ns where known."""
        reader = self._readers[source]
        window = reader.window
        assert window is not None
        assert window.range is not None
        name = window.attribute or next(reader.clocks())
        slot = self._slot((source, name.name))
        typed = replace(self._typed[slot], read=at(slot))
        tick = tick_ns(typed)
        assert tick or not window.range.unit
        scale = 1 if window.range.unit else tick or 1
        return typed, tick or 1, window.range.value * scale


def _holds(conditions: Sequence[Typed], row: Row) -> bool:
    """Whether all are true; one without a value is not."""
    try:
        return all(condition.read(row) is True for condition in conditions)
    except NoValueError:
        return False


def _key(typed: Sequence[Typed], row: Row) -> Row | None:
    """The values that must be equal; None where one is NULL or has no value: nothing equals it."""
    try:
        values = tuple([part.read(row) for part in typed])
    except NoValueError:
        return None
    return None if None in values else values


def _by_key(typed: Sequence[Typed], rows: Sequence[Row]) -> dict[Row | None, list[tuple[int, Row]]]:
    found: dict[Row | None, list[tuple[int, Row]]] = {}
    for number, row in enumerate(rows):
        key = _key(typed, row)
        if key is not None:
            found.setdefault(key, []).append((number, row))
    return found


def _equated_names(tree: From, where: Node | None) -> set[str]:
    """The names n of `a.n = b.n`: alone they are clear."""
    conditions, trees = [where], [tree]
    while trees:
        step = trees.pop()
        if isinstance(step, Join):
            conditions.append(step.condition)
            trees += [step.left, step.right]
    operations = [
        part for node in conditions for part in parts_of(node) if isinstance(part, Operation)
    ]
    pairs = [node.operands for node in operations if node.operator == "="]
    return {
        left.name
        for left, right in pairs
        if isinstance(left, Name) and isinstance(right, Name) and left.name == right.name
    }
