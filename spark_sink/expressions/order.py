# SPDX-License-Identifier: Apache-2.0
"""Whether Spark's order of a column is the engine's (GS_ORDER), for min, max and ORDER BY."""

from __future__ import annotations

from gigastream.gsql.types import Type

_DIFFERENCES = {
    Type.FLOAT: "NaN stands above all numbers; in the engine it is equal to each of them, so that "
    "its place depends on where it came",
}


def ordering(type_: Type) -> str | None:
    """What is different, in a sentence; None where nothing is.

    Types inside keep the order: false before true, numbers and timestamps by size, strings and
    addresses by their bytes without sign, a string behind its own beginnings. NULL stands
    below every value, as in the engine.
    """
    return _DIFFERENCES.get(type_)
