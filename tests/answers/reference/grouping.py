# SPDX-License-Identifier: Apache-2.0
"""GROUP BY with CUBE, ROLLUP and GROUPING_SETS: its variables, and the sets that they make."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain, combinations, product

from tests.answers.reference.cursor import Cursor
from tests.answers.reference.syntax import Item

Sets = list[frozenset[int]]


def group_by(cursor: Cursor, item: Callable[[Cursor], Item]) -> tuple[list[Item], Sets]:
    """The variables, each once, and the different sets of them; no sets where none are written."""
    variables: list[Item] = []

    def place() -> int:
        found = item(cursor)
        variables.append(found)
        return len(variables) - 1

    def known_place() -> int:
        """In GROUPING_SETS a variable may come again."""
        found = item(cursor)
        for at, known in enumerate(variables):
            if found == known or (found.name == known.name and found.name):
                return at
        variables.append(found)
        return len(variables) - 1

    def listed(each: Callable[[], int]) -> list[int]:
        cursor.expect("(")
        found = [] if cursor.at(")") else cursor.separated(lambda _: each())
        cursor.expect(")")
        return found

    def element(_: Cursor) -> list[tuple[int, ...]]:
        if cursor.accept("CUBE"):
            places = listed(place)
            return list(chain(*(combinations(places, n) for n in range(len(places) + 1))))
        if cursor.accept("ROLLUP"):
            places = listed(place)
            return [tuple(places[:n]) for n in range(len(places) + 1)]
        if cursor.accept("GROUPING_SETS"):
            cursor.expect("(")
            found = cursor.separated(lambda _: tuple(listed(known_place)))
            cursor.expect(")")
            return found
        return [(place(),)]

    elements = cursor.separated(element)
    if all(len(sets) == 1 for sets in elements):
        return variables, []
    return variables, list({frozenset(chain(*parts)): None for parts in product(*elements)})
