# SPDX-License-Identifier: Apache-2.0
"""The least and the greatest value of each temporal column of a segment, for its line.

Bounds say what is still to come; these say what is there, so that who wants the rows of some
windows need not open segments that have none of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow
import pyarrow.compute as pc

from gigastream.spool.entry import END, Range, Ranges

_SIGNS = {"increasing": 1, "decreasing": -1}
"""By a column's temporal type; a decreasing one is held as its negative, as its bounds are."""


def temporal_signs(columns: Sequence[dict[str, Any]]) -> dict[int, int]:
    """By place, the sign of each temporal column of a stream's description."""
    signs = (
        (place, _SIGNS.get(column.get("temporal", ""))) for place, column in enumerate(columns)
    )
    return {place: sign for place, sign in signs if sign is not None}


class ValueRanges:
    """The ranges of the rows taken so far."""

    def __init__(self, signs: dict[int, int], column_count: int) -> None:
        self._signs = signs
        self._ranges: list[Range | None] = [None] * column_count
        self._unknown: set[int] = set()

    def take(self, batch: pyarrow.RecordBatch) -> None:
        """Add a batch's rows; a column with a NULL says nothing from then on."""
        if batch.num_rows == 0:
            return
        for place, sign in self._signs.items():
            values = batch.column(place)
            if values.null_count:
                self._unknown.add(place)
            elif place not in self._unknown:
                self._ranges[place] = _wider(self._ranges[place], _range_of(values, sign))

    def known(self) -> Ranges | None:
        """One a column, None for one that is not known; None where none is."""
        found = tuple(
            None if place in self._unknown else each for place, each in enumerate(self._ranges)
        )
        return found if any(each is not None for each in found) else None


def _range_of(values: pyarrow.Array, sign: int) -> Range:
    if pyarrow.types.is_timestamp(values.type):
        values = values.view(pyarrow.int64())
    found = pc.min_max(values).as_py()
    ends = sorted(sign * int(found[name]) for name in ("min", "max"))
    # an ullong of 2^63 and more is no value of time: whatever waits for it waits for the end
    return min(ends[0], END), min(ends[1], END)


def _wider(known: Range | None, found: Range) -> Range:
    return found if known is None else (min(known[0], found[0]), max(known[1], found[1]))
