# SPDX-License-Identifier: Apache-2.0
"""What leaves with a micro-batch: the rows whose time is over between two punctuations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from gigastream.plan.base_time import Alternatives
from spark_sink.event_time import COLUMN as EVENT_TIME
from spark_sink.event_time import END_MS, is_over

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_NS_PER_MS = 1_000_000


@dataclass(frozen=True, slots=True)
class Leaving:
    """Event times above `after_ms` (None: all there were) and up to `until_ms`.

    They are asked for where rows wait for time for the last time before the output: what is below
    gives rows of windows that are still open, too, and of some that have left.
    """

    after_ms: int | None
    until_ms: int

    def of(self, rows: DataFrame) -> DataFrame:
        """Those of rows with event times."""
        ended = rows.where(rows[EVENT_TIME] <= _instant(self.until_ms))
        return ended if self.after_ms is None else ended.where(_is_after(rows, self.after_ms))

    def of_values(
        self, rows: DataFrame, values: Sequence[tuple[Column, Alternatives]]
    ) -> DataFrame:
        """The same, of the temporal values (bigint) that the event time would be made of."""
        if self.until_ms < END_MS:
            rows = rows.where(is_over(values, self.until_ms * _NS_PER_MS))
        if self.after_ms is not None:
            rows = rows.where(~is_over(values, self.after_ms * _NS_PER_MS))
        return rows


def _is_after(rows: DataFrame, ms: int) -> Column:
    return rows[EVENT_TIME] > _instant(ms)


def _instant(ms: int) -> Column:
    return F.timestamp_millis(F.lit(ms).cast("bigint"))
