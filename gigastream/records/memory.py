# SPDX-License-Identifier: Apache-2.0
"""Rows from memory: mappings from the names of fields to values, or record batches of Arrow."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from gigastream.records.feed import RecordFeed
from gigastream.records.values import MISSING
from gigastream.words import kind_of


class RecordRows:
    """An iterable, which is asked for more as its answer is taken."""

    def __init__(self, rows: Iterable[Any]) -> None:
        """Take nothing yet."""
        self._rows = rows

    def deliver(self, feed: RecordFeed) -> None:
        """Add all rows; what the iterable raises is its caller's."""
        number = 0
        rows = self._rows.to_batches() if hasattr(self._rows, "to_batches") else self._rows
        for item in rows:
            number = self._add(item, number, feed)
            feed.before_wait()

    def close(self) -> None:
        """Nothing is open."""

    def _add(self, item: Any, number: int, feed: RecordFeed) -> int:
        """Add a row or a batch behind so many; return how many there are then."""
        if hasattr(item, "num_rows") and hasattr(item, "schema"):
            from gigastream.records.arrow_rows import batch_rows

            batches = item.to_batches() if hasattr(item, "to_batches") else [item]
            for batch in batches:
                batch.validate(full=True)
                for at, values in batch_rows(batch, feed.names, number):
                    feed.add(values, f"record {at:,}")
                number += batch.num_rows
            return number
        number += 1
        if isinstance(item, Mapping):
            feed.add([item.get(name, MISSING) for name in feed.names], f"record {number:,}")
        else:
            feed.add(f"it is {kind_of(item)}, not a mapping", f"record {number:,}")
        return number
