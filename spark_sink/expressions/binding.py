# SPDX-License-Identifier: Apache-2.0
"""Operands by name, for operations that would repeat large ones.

A column is a tree: an operation that names its operand twice doubles it, and ten of them in a row
make a thousand copies. Spark's columns have no variables but those of lambda functions, which are
not compiled: they are used only where repeating has become dear.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pyspark.sql import Column
from pyspark.sql import functions as F

_LARGE = 4000
"""Characters of a column's text; beyond a few times that, Java's limit on methods is reached."""

Compute = Callable[[list[Column]], Column]


def computed(compute: Compute, operands: Sequence[Column]) -> Column:
    """`compute(operands)`; each operand is evaluated once where they are large."""
    result = compute(list(operands))
    size = _size(result)
    if size > _LARGE and size > 2 * sum(map(_size, operands)):
        return bound(lambda *names: compute(list(names)), *operands)
    return result


def _size(column: Column) -> int:
    return len(str(column))


def bound(compute: Callable[..., Column], *operands: Column) -> Column:
    """`compute(*operands)`, which names each operand as often as it likes: it is evaluated once.

    As a function of one row, which holds the operands, over a list of that row alone.
    """
    names = [f"o{index}" for index in range(len(operands))]
    row = F.struct(*(o.alias(name) for o, name in zip(operands, names, strict=True)))
    results = F.transform(F.array(row), lambda r: compute(*(r.getField(name) for name in names)))
    return F.get(results, F.lit(0))
