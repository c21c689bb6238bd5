# SPDX-License-Identifier: Apache-2.0
"""The high-level operators of one process: rows, and exactly which punctuation (OPERATORS §4).

Every operator takes batches and gives batches. Where a real operator paces its output (an
aggregation that lets a large window out in pieces), the model gives everything that is due at once;
`Aggregate.punctuation_while` says what the bound is in between.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tests.models.bounds import (
    END,
    NEVER,
    Bound,
    Column,
    Joint,
    Vector,
    greatest,
    known,
    least,
    least_joint,
    passed,
)
from tests.models.order import OrderKey, sort_rows

Row = tuple[Any, ...]


@dataclass(frozen=True)
class Batch:
    """Rows, and the punctuation that speaks of all that comes after them."""

    rows: tuple[Row, ...]
    punctuation: Vector
    joint: Joint | None = None
    missing: int = 0
    still_missing: int = 0


@dataclass(frozen=True)
class Greatest:
    """UMAX of two temporal columns of the input."""

    first: int
    second: int


Columns = Sequence[tuple[int, Column] | Greatest]
"""For each temporal output column, the input's temporal column that it reads and the function."""


def carried(columns: Columns, vector: Vector, joint: Joint | None) -> tuple[Vector, Joint | None]:
    """What is promised of the columns of an output (OPERATORS section 1)."""
    bound = tuple(_carried(column, vector, joint) for column in columns)
    return bound, None if joint is None else _through(columns, joint)


def _carried(column: tuple[int, Column] | Greatest, vector: Vector, joint: Joint | None) -> Bound:
    if not isinstance(column, Greatest):
        source, function = column
        return function.bound(vector[source])
    read = column.first, column.second
    both = min(joint.bounds) if joint is not None and set(joint.columns) == set(read) else NEVER
    return max(*(vector[source] for source in read), both)


def _through(columns: Columns, joint: Joint) -> Joint | None:
    """The first output column of each of the two."""
    places = []
    for source, bound in zip(joint.columns, joint.bounds, strict=True):
        for place, column in enumerate(columns):
            if not isinstance(column, Greatest) and column[0] == source:
                places.append((place, column[1].bound(bound)))
                break
    if len(places) < 2:
        return None
    (a, first), (b, second) = sorted(places)
    return Joint((a, b), (first, second))


def _uncovered(joint: Joint | None, held: Sequence[Vector]) -> Joint | None:
    """A joint bound that covers nothing of what is still held."""
    return None if joint is None or any(map(joint.covers, held)) else joint


def end_of(width: int) -> Vector:
    """The punctuation of a stream with so many temporal columns that has ended."""
    return (END,) * width


class Select:
    """Rows as they come, each bound through its expression, a joint one where both columns go.

    `row` gives the output row or None where WHERE rejects it.
    """

    def __init__(self, row: Callable[[Row], Row | None], columns: Columns) -> None:
        self._row = row
        self._columns = tuple(columns)
        self._known: Joint | None = None
        self.punctuation: Vector = (NEVER,) * len(self._columns)
        self.joint: Joint | None = None

    def on_batch(self, batch: Batch) -> Batch:
        """The batch that follows from one input batch."""
        rows = tuple(out for row in batch.rows for out in self._made(row))
        self._known = known(self._known, batch.joint)
        bound, joint = carried(self._columns, batch.punctuation, self._known)
        self.punctuation = greatest(self.punctuation, bound)
        self.joint = known(self.joint, joint)
        return Batch(rows, self.punctuation, self.joint)

    def _made(self, row: Row) -> Iterator[Row]:
        out = self._row(row)
        if out is not None:
            yield out


class Expand(Select):
    """Each row once for each mask, which stands behind the group variables.

    Bit k of a mask takes away the k-th of `variables`, places among them.
    """

    def __init__(
        self, masks: Sequence[int], variables: Sequence[int], groups: int, columns: Columns
    ) -> None:
        super().__init__(lambda row: row, columns)
        self._masks, self._variables, self._groups = masks, variables, groups

    def _made(self, row: Row) -> Iterator[Row]:
        for mask in self._masks:
            lacking = {place for bit, place in enumerate(self._variables) if mask >> bit & 1}
            key = (None if at in lacking else row[at] for at in range(self._groups))
            yield (*key, mask, *row[self._groups :])


@dataclass(frozen=True)
class SuperAggregate:
    """How partial rows become a final one: combine two states, then turn the last into cells."""

    combine: Callable[[Any, Any], Any]
    cells: Callable[[Any], Row]


@dataclass(frozen=True)
class Closed:
    """A window that a bound has passed: its rows, in no order, those that HAVING kept."""

    window: Vector
    rows: tuple[Row, ...]
    is_partial: bool = False


class Aggregate:
    """Groups by window; a window leaves when a bound passes it, oldest first.

    An input row is (window vector, group, state); `columns` are, for each temporal group variable,
    the input's temporal column and the function. `row` makes the output row of a group.
    """

    def __init__(
        self,
        columns: Columns,
        aggregate: SuperAggregate,
        having: Callable[[Row], bool] = lambda row: True,
        max_groups: int | None = None,
    ) -> None:
        self._columns = tuple(columns)
        self._aggregate = aggregate
        self._having = having
        self._max_groups = max_groups
        self._windows: dict[Vector, dict[Hashable, object]] = {}
        self._refused_windows: set[Vector] = set()
        self._bound: Vector = (NEVER,) * len(self._columns)
        self._told: Joint | None = None
        """Of the input."""
        self._joint: Joint | None = None
        """Of the group variables."""
        self.punctuation: Vector = self._bound
        self.groups_refused = 0

    @property
    def groups(self) -> int:
        """The number of groups held."""
        return sum(map(len, self._windows.values()))

    def on_batch(self, batch: Batch) -> tuple[list[Closed], Vector]:
        """The windows that close, oldest first, and the punctuation once they are all out."""
        for window, group, state in batch.rows:
            self._add(window, group, state)
        self._told = known(self._told, batch.joint)
        bound, joint = carried(self._columns, batch.punctuation, self._told)
        self._bound = greatest(self._bound, bound)
        self._joint = known(self._joint, joint)
        due = sorted(filter(self._is_due, self._windows))
        closed = [self._close(window) for window in due]
        self.punctuation = greatest(self.punctuation, self.punctuation_while(()))
        return closed, self.punctuation

    def punctuation_while(self, not_yet_out: Sequence[Vector]) -> Vector:
        """The bound to give while these closed windows are not yet completely out."""
        return least(self._bound, *self._windows, *not_yet_out)

    def joint_while(self, not_yet_out: Sequence[Vector]) -> Joint | None:
        """The joint bound to give while these are not yet completely out; None: the one before."""
        return _uncovered(self._joint, not_yet_out)

    def _is_due(self, window: Vector) -> bool:
        covers = self._joint is not None and self._joint.covers(window)
        return covers or passed(window, self._bound)

    def _add(self, window: Vector, group: Hashable, state: object) -> None:
        groups = self._windows.setdefault(window, {})
        if group in groups:
            groups[group] = self._aggregate.combine(groups[group], state)
        elif self._max_groups is None or self.groups < self._max_groups:
            groups[group] = state
        else:
            self.groups_refused += 1
            self._refused_windows.add(window)

    def _close(self, window: Vector) -> Closed:
        groups = self._windows.pop(window)
        rows = (
            (*window, *_cells(group), *self._aggregate.cells(state))
            for group, state in groups.items()
        )
        kept = tuple(row for row in rows if self._having(row))
        return Closed(window, kept, window in self._refused_windows)


def _cells(group: Hashable) -> Row:
    return group if isinstance(group, tuple) else (group,)


class Union:
    """Rows pass; the bound is the least over the inputs, and so is a joint one that all have."""

    def __init__(self, inputs: int, width: int) -> None:
        self._inputs: list[Vector] = [(NEVER,) * width for _ in range(inputs)]
        self._joints: list[Joint | None] = [None] * inputs
        self.punctuation: Vector = (NEVER,) * width
        self.joint: Joint | None = None

    def on_batch(self, source: int, batch: Batch) -> Batch:
        """The batch that follows from one of the inputs."""
        self._inputs[source] = greatest(self._inputs[source], batch.punctuation)
        self._joints[source] = known(self._joints[source], batch.joint)
        self.punctuation = least(*self._inputs)
        self.joint = known(self.joint, least_joint(self._inputs, self._joints))
        return Batch(batch.rows, self.punctuation, self.joint)


class OrderLimit:
    """ORDER BY … LIMIT k over each closed window, ties broken by all columns."""

    def __init__(
        self, window_columns: Sequence[int], order: Sequence[OrderKey], limit: int | None = None
    ) -> None:
        self._window_columns = tuple(window_columns)
        self._order = tuple(order)
        self._limit = limit
        self._windows: dict[Vector, list[Row]] = {}
        self._joint: Joint | None = None
        self.punctuation: Vector = (NEVER,) * len(self._window_columns)

    def on_batch(self, batch: Batch) -> Batch:
        """The first k rows of every window that the bound has passed, oldest window first."""
        for row in batch.rows:
            self._windows.setdefault(self._window_of(row), []).append(row)
        self.punctuation = greatest(self.punctuation, batch.punctuation)
        self._joint = known(self._joint, batch.joint)
        due = sorted(filter(self._is_due, self._windows))
        rows = [row for window in due for row in self._close(window)]
        return Batch(tuple(rows), self.punctuation, self._joint)

    def joint_while(self, not_yet_out: Sequence[Vector]) -> Joint | None:
        """The joint bound to give while these are not yet completely out; None: the one before."""
        return _uncovered(self._joint, not_yet_out)

    def _is_due(self, window: Vector) -> bool:
        covers = self._joint is not None and self._joint.covers(window)
        return covers or passed(window, self.punctuation)

    def _window_of(self, row: Row) -> Vector:
        return tuple(_bound(row[column]) for column in self._window_columns)

    def _close(self, window: Vector) -> list[Row]:
        return sort_rows(self._windows.pop(window), self._order)[: self._limit]


def _bound(value: object) -> Bound:
    if not isinstance(value, int | float):
        raise TypeError(f"a temporal column holds a number, not {value!r}")
    return value
