# SPDX-License-Identifier: Apache-2.0
"""Whose rows are missing of what an operator puts out, from batch to batch (OPERATORS section 4).

Interfaces are bits. A gap is there until nothing is held or to come of what its rows would have
been part of: each of `reached`, below which nothing is, has passed the last value that they touch.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import or_

from tests.models.bounds import END, NEVER, Bound, Joint, Vector, greatest


class Missing:
    """`now`: of the rows that wait to be sent, and of what the next bounds close."""

    def __init__(self, ports: int) -> None:
        self._still = [0] * ports
        self._gaps: dict[int, Vector] = {}
        self.now = 0

    def take(self, port: int, missing: int, still_missing: int, last: Sequence[Bound]) -> None:
        """What a batch says; rows that are missing of it touch values up to `last`."""
        self._still[port] = still_missing
        self.now = self._behind() | missing
        for bit in (1 << at for at in range(missing.bit_length()) if missing >> at & 1):
            self._gaps[bit] = greatest(self._gaps.get(bit, (NEVER,) * len(last)), tuple(last))

    def send(self, reached: Sequence[Bound]) -> int:
        """What is said of a batch that is sent now; `now` is of what comes behind it."""
        said = self.now
        self._gaps = {bit: last for bit, last in self._gaps.items() if not _passed(last, reached)}
        self.now = self._behind()
        return said

    def _behind(self) -> int:
        return reduce(or_, (*self._gaps, *self._still), 0)


def last_closed(before: Vector, told: Vector, joint: Joint | None) -> Vector:
    """Of each column the last value that a batch closes."""
    last = list(greatest(before, told))
    for column, bound in zip(joint.columns, joint.bounds, strict=True) if joint else ():
        last[column] = max(last[column], bound)
    return tuple(bound - 1 for bound in last)


def _passed(last: Sequence[Bound], reached: Sequence[Bound]) -> bool:
    pairs = zip(last, reached, strict=True)
    return all(value == NEVER or bound > value or bound == END for value, bound in pairs)
