# SPDX-License-Identifier: Apache-2.0
"""The order of rows in ORDER BY: NULL below every value, ties broken by all columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

Row = tuple[Any, ...]


@dataclass(frozen=True)
class OrderKey:
    """A column of the row and its direction."""

    column: int
    descending: bool = False


def sort_rows(rows: Iterable[Row], order: Sequence[OrderKey]) -> list[Row]:
    """Rows by the keys, then by all columns from the first to the last, ascending.

    NULL is below every value, so it stands first ascending and last descending, as in Spark.
    """
    ordered = sorted(rows, key=lambda row: tuple(map(_null_first, row)))
    for key in reversed(order):
        ordered.sort(key=lambda row: _null_first(row[key.column]), reverse=key.descending)
    return ordered


def _null_first(value: Any) -> tuple[bool, Any]:
    return (False, 0) if value is None else (True, value)
