# SPDX-License-Identifier: Apache-2.0
"""Bounds of punctuation: one value for each temporal column, or nothing yet, or the end."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

NEVER = -math.inf
"""No bound yet."""

END = math.inf
"""The end of the stream: no row comes any more."""

LIMIT = 1 << 63
"""Bounds are of 64 signed bits, of which the least and the greatest are NEVER and END."""

Bound = int | float
Vector = tuple[Bound, ...]


@dataclass(frozen=True)
class Column:
    """A temporal column of a stream, as a monotone function of another bound.

    `function` maps a value, so it maps a bound on it too. `step` is the distance between
    neighbouring values of the column: `time/60` has step 1, `time/60*60` has step 60.
    """

    function: Callable[[int], int]
    step: int = 1

    def bound(self, bound: Bound) -> Bound:
        """The bound on the column that follows from a bound on its argument."""
        return bound if bound in (NEVER, END) else self.function(int(bound))


def held(time: int) -> Bound:
    """A time among bounds: one beyond them all is less than it is, to promise nothing false."""
    if time == LIMIT - 1:
        return END
    return NEVER if time <= -LIMIT else min(time, LIMIT - 2)


def before_end(values: Vector) -> Vector:
    """What is held promises at the most this: it is before the end, as great as its values are."""
    return tuple(LIMIT - 2 if value == END else value for value in values)


def has_time(value: int, sign: int) -> bool:
    """Whether a bound could pass a value, of a decreasing column its negative."""
    return value < LIMIT and sign * value < LIMIT


@dataclass(frozen=True)
class Joint:
    """No later row is below the first bound in one column *and* below the second in the other."""

    columns: tuple[int, int]
    bounds: tuple[Bound, Bound]

    def covers(self, window: Vector) -> bool:
        """Whether a window or row is below both."""
        (a, b), (first, second) = self.columns, self.bounds
        return window[a] < first and window[b] < second


def known(before: Joint | None, told: Joint | None) -> Joint | None:
    """The joint bound that holds: the greater of two replaces the other, they are never mixed."""
    if before is None or told is None:
        return before or told
    pairs = zip(before.bounds, told.bounds, strict=True)
    same = before.columns == told.columns
    return told if same and all(new >= old for old, new in pairs) else before


def bounds(columns: Iterable[Column], bound: Bound) -> Vector:
    """One bound on the source's time, carried into every column."""
    return tuple(column.bound(bound) for column in columns)


def least(*vectors: Vector) -> Vector:
    """Column by column the least."""
    return tuple(map(min, zip(*vectors, strict=True)))


def greatest(*vectors: Vector) -> Vector:
    """Column by column the greatest."""
    return tuple(map(max, zip(*vectors, strict=True)))


def least_joint(inputs: Sequence[Vector], joints: Sequence[Joint | None]) -> Joint | None:
    """What is true of every row of several inputs: of one that has ended everything is."""
    pairs = zip(inputs, joints, strict=True)
    open_ = [joint for vector, joint in pairs if any(bound != END for bound in vector)]
    given = [joint for joint in open_ if joint is not None]
    if len(given) < len(open_) or len({joint.columns for joint in given}) != 1:
        return None
    first, second = least(*(joint.bounds for joint in given))
    return Joint(given[0].columns, (first, second))


def passed(window: Vector, bound: Vector) -> bool:
    """Whether any one temporal column of a window or row is below its bound."""
    return any(value < limit for value, limit in zip(window, bound, strict=True))
