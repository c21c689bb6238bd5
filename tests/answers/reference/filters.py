# SPDX-License-Identifier: Apache-2.0
"""FILTER_JOIN: packets that another packet of the same source came before (GSQL §6, item 9)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tests.answers.reference.inputs import InputReader
from tests.answers.reference.sources import Tuple
from tests.answers.reference.syntax import Name, Node, conjuncts_of, parts_of
from tests.answers.reference.typed import Typed
from tests.answers.reference.types import NoValueError


@dataclass(frozen=True)
class FilterReader:
    """Two readers of one protocol, of which the second lets packets of the first through."""

    r: InputReader
    s: InputReader
    column: str
    ticks: int

    def resolve(self, name: Name, of_r: Callable[[Name], Typed]) -> Typed:
        """A name in WHERE, read from a pair of packets."""
        if name.qualifier.lower() == self.s.shown.lower():
            return _of_pair(self.s.column(name), 1)
        return _of_pair(of_r(name), 0)

    def tuples(self, where: Node | None, typed: Callable[[Node], Typed]) -> Iterator[Tuple]:
        """The packets of r that pass."""
        times = [reader.column(Name(self.column)) for reader in (self.r, self.s)]
        nodes = conjuncts_of(where)
        sides = [self._sides(node) for node in nodes]
        conditions = [typed(node) for node in nodes]  # now all that is required is named
        of_s = [c for c, side in zip(conditions, sides, strict=True) if side == {1}]
        of_both = [c for c, side in zip(conditions, sides, strict=True) if side == {0, 1}]
        of_r = [c for c, side in zip(conditions, sides, strict=True) if side <= {0}]
        before = [item for item in self.s.tuples() if _all(of_s, (None, item.row))]
        for item in self.r.tuples():
            if not _all(of_r, (item.row, None)):
                continue
            for other in before:
                age = times[0].read(item.row) - times[1].read(other.row)  # type: ignore[operator]
                came = _place(other)[0] == _place(item)[0] and _place(other) < _place(item)
                if came and 0 <= age <= self.ticks and _all(of_both, (item.row, other.row)):
                    yield item
                    break

    def _sides(self, node: Node) -> set[int]:
        names = [part for part in parts_of(node) if isinstance(part, Name)]
        return {int(name.qualifier.lower() == self.s.shown.lower()) for name in names}


def _of_pair(typed: Typed, side: int) -> Typed:
    return replace(typed, read=lambda pair: typed.read(pair[side]))


def _place(item: Tuple) -> tuple[Any, Any]:
    """Its source, and its place there."""
    _, ordinal, position = item.place
    return ordinal, position


def _all(conditions: Sequence[Typed], pair: tuple[Any, Any]) -> bool:
    try:
        return all(condition.read(pair) is True for condition in conditions)
    except NoValueError:
        return False
