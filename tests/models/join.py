# SPDX-License-Identifier: Apache-2.0
"""Join of two streams (OPERATORS section 4): rows, what is held, and exactly which punctuation.

Values of temporal columns are bounds here: those of a decreasing column are negatives already.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.models.bounds import END, NEVER, Bound, Joint, Vector, greatest
from tests.models.missing import Missing, last_closed

Row = tuple[Any, ...]
LOWEST, HIGHEST = -2000, 2000
"""All values of time that a test has are between these."""


class NoValueError(Exception):
    """An expression has no value: its row, or pair of rows, is dropped."""


@dataclass(frozen=True)
class Time:
    """A side of a pair: a function that never falls of one temporal column."""

    column: int
    function: Callable[[int], int] = lambda value: value

    def of(self, row: Row) -> int | None:
        value = row[self.column]
        return None if value is None else self.function(value)

    def forward(self, bound: Bound) -> Bound:
        return bound if bound in (NEVER, END) else self.function(int(bound))

    def inverse(self, value: Bound) -> Bound:
        """The least bound by which the function is this at least."""
        if value in (NEVER, END):
            return value
        return next(x for x in range(LOWEST, HIGHEST) if self.function(x) >= value)


@dataclass(frozen=True)
class Pair:
    """Two times: the other's is at most its own + `reach` of that side."""

    times: tuple[Time, Time]
    reach: tuple[int, int] = (0, 0)

    def holds(self, rows: tuple[Row, Row]) -> bool:
        first, second = (time.of(row) for time, row in zip(self.times, rows, strict=True))
        if first is None or second is None:
            return False
        return -self.reach[1] <= second - first <= self.reach[0]


Places = tuple[int | None, int | None]


@dataclass(frozen=True)
class Predicate:
    """What two rows must be to match."""

    pairs: tuple[Pair, ...]
    keys: tuple[tuple[Callable[[Row], Any], Callable[[Row], Any]], ...] = ()
    residual: Callable[[Row, Row], bool | None] = lambda first, second: True


@dataclass(frozen=True)
class Given:
    """What comes of a batch."""

    rows: list[Row]
    bounds: Vector
    joint: Joint | None
    is_end: bool


@dataclass
class Side:
    """An input: what is held of it, what it has promised."""

    held: list[tuple[Row, list[bool]]] = field(default_factory=list)
    """Rows, and whether each has matched."""
    bounds: Vector = ()
    has_ended: bool = False


class Join:
    """Both sides' rows, temporal columns first; `columns` are those of the output.

    `temporal` says which columns of an input are, `bounded` which of the output are.
    """

    def __init__(
        self,
        predicate: Predicate,
        keeps: tuple[bool, bool],
        columns: Sequence[Places],
        *,
        temporal: int,
        bounded: Sequence[int],
        joint: bool = False,
        max_rows: int | None = None,
    ) -> None:
        self._predicate, self._keeps, self._columns = predicate, keeps, tuple(columns)
        self._temporal, self._bounded = temporal, frozenset(bounded)
        self._gives_joint, self._max_rows = joint, max_rows
        self._sides = [Side(bounds=(NEVER,) * temporal) for _ in range(2)]
        self._given: Vector = (NEVER,) * len(columns)
        self._out: list[Row] = []
        self.refused = self.no_value = 0
        self.missing = Missing(2)

    @property
    def held(self) -> int:
        """How many rows are held of both sides."""
        return sum(len(side.held) for side in self._sides)

    def on_batch(self, port: int, rows: Sequence[Row], bounds: Vector, *, is_end: bool) -> Given:
        """Rows, then what is promised of the port's temporal columns."""
        self._out = []
        for row in rows:
            try:
                self._take(port, row)
            except NoValueError:
                self.no_value += 1
        side = self._sides[port]
        side.bounds = (END,) * self._temporal if is_end else greatest(side.bounds, bounds)
        side.has_ended |= is_end
        self._purge(1 - port)
        self._given = greatest(self._given, tuple(map(self._bound, range(len(self._columns)))))
        has_ended = all(side.has_ended for side in self._sides)
        return Given(self._out, self._given, self._joint(), has_ended)

    # Whose rows are missing

    def miss(self, port: int, missing: int, bounds: Vector, *, is_end: bool) -> None:
        """What a batch says, before its rows: each pair's times of the other side, then columns."""
        told = (END,) * self._temporal if is_end else bounds
        last = last_closed(self._sides[port].bounds, told, None)
        times = [
            pair.times[port].forward(last[pair.times[port].column]) + pair.reach[port]
            for pair in self._predicate.pairs
        ]
        nothing = [NEVER] * len(times)
        own = [*nothing, *times] if port == 0 else [*times, *nothing]
        columns = [self._touched(port, column, last, times) for column in range(len(self._columns))]
        self.missing.take(port, missing, 0 if is_end else missing, [*own, *columns])

    def reached(self) -> list[Bound]:
        """Below which none of these is held for itself, or to come."""
        pairs = self._predicate.pairs
        times = [self._reached(side, pair) for side in (0, 1) for pair in pairs]
        return [*times, *self._given]

    def _touched(self, port: int, column: int, last: Vector, times: list[Bound]) -> Bound:
        if column not in self._bounded:
            return NEVER
        found = [NEVER]
        for side, place in enumerate(self._columns[column]):
            if place is None or (self._keeps[1 - side] and not all(self._keeps)):
                continue
            if side == port:
                found.append(last[place])
                continue
            pairs = zip(self._predicate.pairs, times, strict=True)
            mine = ((pair.times[side], time) for pair, time in pairs)
            found += [own.inverse(time + 1) - 1 for own, time in mine if own.column == place]
        return max(found)

    def _reached(self, port: int, pair: Pair) -> Bound:
        side, time = self._sides[port], pair.times[port]
        held = [time.of(row) for row, _ in side.held] if self._keeps[port] else []
        return min([time.forward(side.bounds[time.column]), *(t for t in held if t is not None)])

    # Rows

    def _take(self, port: int, row: Row) -> None:
        keys = [key[port](row) for key in self._predicate.keys]
        times = [pair.times[port].of(row) for pair in self._predicate.pairs]
        is_matched = [False]
        if None not in (*keys, *times):
            for other, other_matched in self._sides[1 - port].held:
                if self._match((row, other) if port == 0 else (other, row)):
                    is_matched[0] = other_matched[0] = True
            if self._waits(port, row):
                self._hold(port, row, is_matched)
                return
        self._leave(port, row, is_matched)

    def _match(self, rows: tuple[Row, Row]) -> bool:
        predicate = self._predicate
        pairs = all(pair.holds(rows) for pair in predicate.pairs)
        if not pairs or any(a(rows[0]) != b(rows[1]) for a, b in predicate.keys):
            return False
        try:
            holds = predicate.residual(*rows)
        except NoValueError:
            self.no_value += 1
            return False
        if holds:
            self._put(rows)
        return bool(holds)

    def _hold(self, port: int, row: Row, is_matched: list[bool]) -> None:
        if self._max_rows is not None and self.held >= self._max_rows:
            self.refused += 1
            return
        self._sides[port].held.append((row, is_matched))

    def _leave(self, port: int, row: Row, is_matched: list[bool]) -> None:
        if self._keeps[port] and not is_matched[0]:
            self._put((row, None) if port == 0 else (None, row))

    def _put(self, rows: tuple[Row | None, Row | None]) -> None:
        self._out.append(tuple(self._cell(rows, places) for places in self._columns))

    @staticmethod
    def _cell(rows: tuple[Row | None, Row | None], places: Places) -> object:
        for row, place in zip(rows, places, strict=True):
            if row is not None and place is not None:
                return row[place]
        return None

    # Time

    def _limit(self, port: int, pair: Pair) -> Bound:
        """What is below it has nothing to wait for."""
        other = 1 - port
        time = pair.times[other]
        promised = time.forward(self._sides[other].bounds[time.column])
        return promised - pair.reach[port]

    def _waits(self, port: int, row: Row) -> bool:
        if self._sides[1 - port].has_ended:
            return False
        times = ((pair.times[port].of(row), pair) for pair in self._predicate.pairs)
        return all(time is None or time >= self._limit(port, pair) for time, pair in times)

    def _purge(self, port: int) -> None:
        stays = []
        for row, is_matched in self._sides[port].held:
            if self._waits(port, row):
                stays.append((row, is_matched))
            else:
                self._leave(port, row, is_matched)
        self._sides[port].held = stays

    def _bound(self, column: int) -> Bound:
        if column not in self._bounded:
            return NEVER
        found = [
            self._bound_of(port, place)
            for port, place in enumerate(self._columns[column])
            if place is not None
        ]
        if all(self._keeps):
            return min(found) if len(found) == 2 else NEVER
        kept = [
            self._bound_of(port, place)
            for port, place in enumerate(self._columns[column])
            if place is not None and not self._keeps[1 - port]
        ]
        return max(kept, default=NEVER)

    def _bound_of(self, port: int, place: int) -> Bound:
        """A column of an input, as its rows are put out."""
        if place >= self._temporal:
            return NEVER
        side = self._sides[port]
        pairs = [pair for pair in self._predicate.pairs if pair.times[port].column == place]
        values = (row[place] for row, _ in side.held)
        held = min((value for value in values if value is not None), default=END)
        if pairs:
            held = max(pair.times[port].inverse(self._limit(port, pair)) for pair in pairs)
        return min(side.bounds[place], held)

    def _joint(self) -> Joint | None:
        """A row to come has a time to come of one side, or of the other."""
        if not self._gives_joint:
            return None
        found = [self._time_column(port) for port in (0, 1)]
        times = [self._predicate.pairs[0].times[port].column for port in (0, 1)]
        bounds = [side.bounds[at] for side, at in zip(self._sides, times, strict=True)]
        if NEVER in bounds:
            return None
        (a, first), (b, second) = sorted(zip(found, bounds, strict=True))
        return Joint((a, b), (first, second))

    def _time_column(self, port: int) -> int:
        """The column of the output that is the first pair's time on this side alone."""
        place = self._predicate.pairs[0].times[port].column
        wanted = (place, None) if port == 0 else (None, place)
        return self._columns.index(wanted)
