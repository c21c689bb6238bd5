# SPDX-License-Identifier: Apache-2.0
"""Sort and Merge: rows that wait for their turn, and what is promised meanwhile (OPERATORS §4).

A row's temporal columns are its cells `columns`; of a decreasing one, whose sign is -1, the value
counts as its negative, as its bounds do.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.models.bounds import (
    END,
    NEVER,
    Bound,
    Joint,
    Vector,
    before_end,
    greatest,
    has_time,
    held,
    known,
    least,
    least_joint,
)
from tests.models.hfta import Batch, Row
from tests.models.missing import Missing, last_closed


@dataclass(frozen=True, order=True)
class Held:
    """A row that waits: by its key, then by its input, then by its arrival."""

    key: Bound
    port: int
    arrival: int
    row: Row = field(compare=False)
    values: Vector = field(compare=False)


class Ordered(ABC):
    """What both do: `key` is the temporal column, of those that `columns` names, that orders."""

    def __init__(
        self, inputs: int, columns: Sequence[int], key: int, signs: Sequence[int] = ()
    ) -> None:
        self._columns, self._key = tuple(columns), key
        self._signs = tuple(signs) or (1,) * len(self._columns)
        self._inputs: list[Vector] = [(NEVER,) * len(self._columns) for _ in range(inputs)]
        self._joints: list[Joint | None] = [None] * inputs
        self._arrivals = 0
        self.held: list[Held] = []
        self.dropped = 0
        self.no_value = 0
        self.missing = Missing(inputs)
        self.punctuation: Vector = (NEVER,) * len(self._columns)
        self.joint: Joint | None = None

    def take(self, port: int, batch: Batch) -> None:
        """A batch of an input: its rows, then what it promises."""
        last = last_closed(self._inputs[port], batch.punctuation, batch.joint)
        self.missing.take(port, batch.missing, batch.still_missing, last)
        for row in batch.rows:
            self._take_row(port, row)
        self._inputs[port] = greatest(self._inputs[port], batch.punctuation)
        self._joints[port] = known(self._joints[port], batch.joint)

    def due(self) -> list[Row]:
        """The rows that may leave, in their order."""
        return [held.row for held in sorted(self.held) if self._may_leave(held.key)]

    def leave(self) -> Row:
        """The next row leaves."""
        first = min(self.held)
        assert self._may_leave(first.key)
        self.held.remove(first)
        return first.row

    def promise(self) -> tuple[Vector, Joint | None]:
        """What is to be given of all that is held and to come; it never goes back."""
        values = (before_end(held.values) for held in self.held)
        bounds = list(least(*self._inputs))
        bounds[self._key] = self._reached()
        self.punctuation = greatest(self.punctuation, least(tuple(bounds), *values))
        joint = least_joint(self._inputs, self._joints)
        covers = joint is not None and any(joint.covers(held.values) for held in self.held)
        self.joint = known(self.joint, None if covers else joint)
        return self.punctuation, self.joint

    @abstractmethod
    def _seen(self, port: int, key: Bound) -> Bound:
        """How far an input has come before this row, which may not be below it."""

    @abstractmethod
    def _may_leave(self, key: Bound) -> bool:
        """Whether rows of this key are due."""

    @abstractmethod
    def _reached(self) -> Bound:
        """What all that is to come is not below."""

    def _take_row(self, port: int, row: Row) -> None:
        cells = zip(self._columns, self._signs, strict=True)
        values = tuple(held(sign * row[column]) for column, sign in cells)
        if not has_time(row[self._columns[self._key]], self._signs[self._key]):
            self.no_value += 1
            return
        key = values[self._key]
        if key < self._seen(port, key):
            self.dropped += 1
            return
        self.held.append(Held(key, port, self._arrivals, row, values))
        self._arrivals += 1


class Sort(Ordered):
    """Rows below the bound leave in order."""

    def __init__(self, columns: Sequence[int], key: int, signs: Sequence[int] = ()) -> None:
        super().__init__(1, columns, key, signs)

    def _seen(self, port: int, key: Bound) -> Bound:
        return self._inputs[0][self._key]

    def _may_leave(self, key: Bound) -> bool:
        bound = self._inputs[0][self._key]
        return key < bound or bound == END

    def _reached(self) -> Bound:
        return self._inputs[0][self._key]


class Merge(Ordered):
    """Rows up to the least register leave; a register is what an input has reached."""

    def __init__(
        self,
        inputs: int,
        columns: Sequence[int],
        key: int,
        slack: int = 0,
        signs: Sequence[int] = (),
    ) -> None:
        super().__init__(inputs, columns, key, signs)
        self._slack = slack
        self.registers: list[Bound] = [NEVER] * inputs

    def take(self, port: int, batch: Batch) -> None:
        super().take(port, batch)
        self.registers[port] = max(self.registers[port], self._inputs[port][self._key])

    def _seen(self, port: int, key: Bound) -> Bound:
        before = self.registers[port]
        self.registers[port] = max(before, key - self._slack)
        return before

    def _may_leave(self, key: Bound) -> bool:
        return key <= min(self.registers)

    def _reached(self) -> Bound:
        return min(self.registers)
