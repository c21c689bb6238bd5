# SPDX-License-Identifier: Apache-2.0
"""Values that groups keep one by one on Spark (csrc/hfta/value_lists.c), by Python workers.

Spark collects a group's values, with their positions where these matter; what is made of the list
goes to workers, and names nothing but this module.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import functions as F

if TYPE_CHECKING:
    from pyspark.sql import Column

LIST_BYTES = 4096
"""Of the values of a text, each with a separator, and at least one byte (GS_LIST_BYTES)."""
COUNTS_SEPARATOR = b", "


def collected(columns: Sequence[Column]) -> Column:
    """The aggregate function that keeps values: each behind its position, in order."""
    value, *position = columns
    if not position:
        return F.collect_list(value)
    parts = [part.alias(f"p{at}") for at, part in enumerate(position)]
    row = F.struct(*parts, value.alias("value"))
    return F.array_sort(F.collect_list(F.when(value.isNotNull(), row)))["value"]


def list_text(values: Column, separator: bytes, opening: bytes, closing: bytes) -> Column:
    """Values in their order as text; NULL of none."""

    def text(lists: pa.Array) -> pa.Array:
        return _texts(lists, lambda found: _joined(found, separator, opening, closing))

    made: Column = F.arrow_udf(text, "binary")(values)
    return made


def counts_text(values: Column) -> Column:
    """How often each value was there as text, the most frequent first; NULL of none."""

    def text(lists: pa.Array) -> pa.Array:
        return _texts(lists, lambda found: _joined(_counted(found), COUNTS_SEPARATOR, b"", b""))

    made: Column = F.arrow_udf(text, "binary")(values)
    return made


def runs_count(values: Column) -> Column:
    """Of how many runs of equal values a list is."""
    count: Column = F.arrow_udf(_runs, "bigint")(values)
    return count.cast("decimal(20,0)")


def _runs(lists: pa.Array) -> pa.Array:
    return pa.array((sum(1 for _ in groupby(found or ())) for found in _lists(lists)), pa.int64())


def _texts(lists: pa.Array, text: Callable[[list[bytes]], bytes]) -> pa.Array:
    return pa.array((text(found) if found else None for found in _lists(lists)), pa.binary())


def _lists(lists: pa.Array) -> Iterator[list[bytes] | None]:
    return (found.as_py() for found in lists)


def _counted(values: Iterable[bytes]) -> list[bytes]:
    ranked = sorted(Counter(values).items(), key=lambda item: (-item[1], item[0]))
    return [b"%s=%d" % item for item in ranked]


def _joined(values: Sequence[bytes], separator: bytes, opening: bytes, closing: bytes) -> bytes:
    kept, taken = 0, 0
    for value in values:
        taken += max(1, len(value) + len(separator))
        if taken > LIST_BYTES:
            break
        kept += 1
    parts = [*values[:kept]]
    if kept < len(values):
        parts.append(f"\N{HORIZONTAL ELLIPSIS} {len(values) - kept} more".encode())
    return opening + separator.join(parts) + closing
