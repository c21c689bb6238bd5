# SPDX-License-Identifier: Apache-2.0
"""Windows that slide: a row is put into every window that covers it (OPERATORS section 4)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tests.models.bounds import Column, Vector
from tests.models.hfta import Aggregate, Batch, Closed, Columns, Row, SuperAggregate


def windows_over(value: int, range_: int, slide: int) -> list[int]:
    """Every w whose [(w + 1) * slide - range, (w + 1) * slide) has the value in it, by trying."""
    near = range(value // slide - 1, (value + range_) // slide + 2)
    return [w for w in near if 0 <= (w + 1) * slide - value - 1 < range_]


class Slide:
    """An aggregation whose first temporal value is what the windows are over.

    An input row is (vector, group, state), `vector` with that value first and the temporal group
    variables behind it; `columns` are of the input's temporal columns and give the value's bound
    first. Panes, and how they are combined, are nobody's business here.
    """

    def __init__(
        self,
        range_: int,
        slide: int,
        columns: Columns,
        aggregate: SuperAggregate,
        having: Callable[[Row], bool] = lambda row: True,
    ) -> None:
        self._range, self._slide = range_, slide
        self._aggregate = Aggregate(
            [_of_windows(columns[0], slide), *columns[1:]], aggregate, having
        )
        self.dropped = 0
        """Rows in no window."""
        self.punctuation_while = self._aggregate.punctuation_while
        self.joint_while = self._aggregate.joint_while

    def on_batch(self, batch: Batch) -> tuple[list[Closed], Vector]:
        """The windows that close, oldest first, and the punctuation once they are all out."""
        rows = [each for row in batch.rows for each in self._in_windows(row)]
        return self._aggregate.on_batch(replace(batch, rows=tuple(rows)))

    def _in_windows(self, row: Row) -> list[Row]:
        (value, *others), group, state = row
        found = windows_over(value, self._range, self._slide)
        self.dropped += not found
        return [((w, *others), group, state) for w in found]


def _of_windows(column: object, slide: int) -> tuple[int, Column]:
    """A bound p closes every w below p / slide, rounded down."""
    assert isinstance(column, tuple)
    source, value = column
    return source, Column(lambda bound: value.function(bound) // slide)
