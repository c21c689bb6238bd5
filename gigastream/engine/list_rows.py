# SPDX-License-Identifier: Apache-2.0
"""A watchlist's Parquet file as lines of CSV, which the engine reads.

Arrow is loaded with this module, when a list needs it and what opening links takes has been given
up: it begins threads. What a file declares is looked at before anything is allocated for it
(gigastream/records/parquet_rows.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gigastream.records.arrow_rows import ArrowError
from gigastream.records.parquet_rows import rows
from gigastream.records.values import MISSING

_TOGETHER = 4096


def lines(descriptor: int, names: Sequence[str]) -> Iterator[bytes]:
    """The rows, as these columns. ValueError: a column is not there, or the file is damaged."""
    found: list[bytes] = []
    try:
        for _, values in rows(descriptor, names):
            missing = [n for n, value in zip(names, values, strict=True) if value is MISSING]
            if missing:
                raise ValueError(f"it has no column {missing[0]}")
            found.append(_line(values))
            if len(found) == _TOGETHER:
                yield b"".join(found)
                found = []
    except ArrowError as error:
        raise ValueError(str(error)) from None
    yield b"".join(found)


def _line(values: Sequence[object] | str) -> bytes:
    """A line of CSV; of a row with NULL, or a text of several lines, one that lacks a column."""
    cells = list(map(_cell, values))
    good = [cell for cell in cells if cell is not None and b"\n" not in cell]
    if len(good) < len(cells):
        good = good[: len(cells) - 1]
    return b",".join(b'"' + cell.replace(b'"', b'""') + b'"' for cell in good) + b"\n"


def _cell(value: object) -> bytes | None:
    if value is None:
        return None
    if isinstance(value, bool):
        return b"true" if value else b"false"
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogateescape")
