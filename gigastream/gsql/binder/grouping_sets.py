# SPDX-License-Identifier: Apache-2.0
"""CUBE, ROLLUP and GROUPING_SETS: which group variables a row is grouped by, set by set.

Elements of GROUP BY that stand side by side are multiplied, as in SQL: each set of the one meets
each of the other, and a plain group variable is in all of them. A set that comes twice is one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, product
from math import prod

from gigastream.gsql.diagnostics import DiagnosticSink
from gigastream.gsql.queries import GroupingMasks
from gigastream.gsql.source import Span
from gigastream.gsql.syntax import ast
from gigastream.late_dataclass import dataclass

MAX_SETS = 64
MAX_VARIABLES = 32
"""Group variables that are not in every set: the bits of a mask."""
Positions = frozenset[int]
"""Of group variables, among those of the query."""


def group_items(elements: Sequence[ast.GroupElement]) -> list[ast.GroupItem]:
    """The group variables that GROUP BY names, each once, in CUBE and its like too."""
    return [item for element in elements for item in _items(element)]


def _items(element: ast.GroupElement) -> list[ast.GroupItem]:
    if isinstance(element, ast.GroupItem):
        return [element]
    if not isinstance(element, ast.GroupingSets):
        return list(element.items)
    named: list[ast.GroupItem] = []
    for item in (item for group in element.sets for item in group):
        if not any(_is_same(item, known) for known in named):
            named.append(item)
    return named


def _is_same(item: ast.GroupItem, known: ast.GroupItem) -> bool:
    """Written the same, or by the name that the other was given: `(srcIP AS s, len), (s)`."""
    name = item.expression
    if item == known or item.alias is not None or not isinstance(name, ast.Name):
        return item == known
    return not name.qualifier and name.name.lower() == (known.alias or "").lower()


@dataclass(frozen=True, slots=True)
class SetsWritten:
    """The grouping sets of a GROUP BY that has CUBE or its like."""

    sets: tuple[Positions, ...]
    """Different ones, in the order in which they are written."""
    span: Span

    @property
    def rolled_up(self) -> tuple[int, ...]:
        """The group variables that are not in every set, in order."""
        everything = frozenset[int]().union(*self.sets)
        return tuple(sorted(everything - frozenset.intersection(*self.sets)))

    @property
    def masks(self) -> GroupingMasks | None:
        """The sets as what the planner takes; None where there is one alone."""
        rolled_up = self.rolled_up
        if not rolled_up:
            return None
        masks = (
            sum(1 << bit for bit, position in enumerate(rolled_up) if position not in group)
            for group in self.sets
        )
        return GroupingMasks(rolled_up, tuple(masks))


def grouping_sets(
    elements: Sequence[ast.GroupElement], first: int, sink: DiagnosticSink
) -> SetsWritten | None:
    """The sets of a GROUP BY, whose first group variable has this position; None without any.

    Group variables before the first, as a window, are in every set.
    """
    written = [element for element in elements if not isinstance(element, ast.GroupItem)]
    if not written:
        return None
    span = written[0].span.to(written[-1].span)
    if not any(map(_items, elements)):
        hint = "no GROUP BY at all gives one answer of everything"
        sink.error("grouping-sets", "this GROUP BY names no group variable", span, hint)
        return None
    if prod(map(_count, written)) > MAX_SETS:
        message = f"this makes more than {MAX_SETS} grouping sets, which is the most"
        hint = "CUBE of n makes 2^n, ROLLUP n + 1: GROUPING_SETS names those that are wanted"
        sink.error("grouping-sets", message, span, hint)
        return None
    axes: list[list[Positions]] = [[frozenset(range(first))]]
    for element in elements:
        items = _items(element)
        axes.append([frozenset(first + at for at in group) for group in _sets(element, items)])
        first += len(items)
    made = (frozenset[int]().union(*parts) for parts in product(*axes))
    found = SetsWritten(tuple(dict.fromkeys(made)), span)
    if len(found.rolled_up) <= MAX_VARIABLES:
        return found
    message = f"more than {MAX_VARIABLES} group variables are not in every grouping set"
    sink.error("grouping-sets", message, span)
    return None


def _count(element: ast.GroupElement) -> int:
    if isinstance(element, ast.Cube):
        return 1 << len(element.items)
    return len(element.sets) if isinstance(element, ast.GroupingSets) else len(_items(element)) + 1


def _sets(element: ast.GroupElement, items: Sequence[ast.GroupItem]) -> Iterator[tuple[int, ...]]:
    """The sets of one element, as positions among its group variables."""
    everything = tuple(range(len(items)))
    if isinstance(element, ast.Cube):
        for size in reversed(range(len(items) + 1)):
            yield from combinations(everything, size)
    elif isinstance(element, ast.Rollup):
        yield from (everything[:size] for size in reversed(range(len(items) + 1)))
    elif isinstance(element, ast.GroupingSets):
        for group in element.sets:
            yield tuple(at for at in everything if any(_is_same(g, items[at]) for g in group))
    else:
        yield everything
