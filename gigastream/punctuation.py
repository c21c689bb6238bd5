# SPDX-License-Identifier: Apache-2.0
"""A joint bound: what a stream may promise of two of its columns together."""

from __future__ import annotations

from typing import NamedTuple


class JointBound(NamedTuple):
    """No later row is below the first bound in the first column *and* the second in the second.

    A join knows it of its two clocks before it knows as much of either (OPERATORS section 1).
    """

    columns: tuple[int, int]
    """Indices, the lesser first."""
    bounds: tuple[int, int]
    """As they are held: of a decreasing column the negative."""


def greater(known: JointBound | None, told: JointBound | None) -> JointBound | None:
    """Return what holds where both do: the greater one takes the place of the other.

    Two of which neither is the greater are never mixed: the one that was known stays.
    """
    if known is None or told is None:
        return told if known is None else known
    is_greater = known.columns == told.columns and all(
        new >= old for old, new in zip(known.bounds, told.bounds, strict=True)
    )
    return told if is_greater else known
