# SPDX-License-Identifier: Apache-2.0
"""What the parts of a query cost, as operations of generated code, beside their expressions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gigastream.gsql.expressions import Expression
from gigastream.gsql.queries import GroupVariable, OutputColumn
from gigastream.plan.accumulators import Accumulator

Evaluated = tuple[Expression, int]
"""What is computed for a row, and the operations around it."""

_PARTS_OF_ACCUMULATOR = 10
_PARTS_OF_COLUMN = 2


def conditions(predicates: Iterable[Expression]) -> Iterator[Evaluated]:
    """Of WHERE and HAVING."""
    return ((predicate, 0) for predicate in predicates)


def columns(made: Iterable[OutputColumn | GroupVariable]) -> Iterator[Evaluated]:
    """Of SELECT and GROUP BY."""
    return ((column.expression, _PARTS_OF_COLUMN) for column in made)


def arguments(accumulators: Iterable[Accumulator]) -> Iterator[Evaluated]:
    """Of aggregates."""
    return ((e, _PARTS_OF_ACCUMULATOR) for a in accumulators for e in a.expressions)
