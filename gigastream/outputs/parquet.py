# SPDX-License-Identifier: Apache-2.0
"""Parquet, for what comes after. A window's rows are too few for a row group, so they gather."""

from __future__ import annotations

from typing import Any, BinaryIO

from gigastream.outputs import (
    CUT,
    CUT_ROWS,
    MISSING,
    MISSING_ROWS,
    PARTIAL,
    PARTIAL_ROWS,
    Batch,
    OutputQuery,
)

ROWS_PER_GROUP = 1 << 17


class ParquetWriter:
    """Gathers batches into row groups."""

    def __init__(self, stream: BinaryIO, schema: Any) -> None:
        import pyarrow.parquet

        self._schema = schema
        self._writer = pyarrow.parquet.ParquetWriter(stream, schema)
        self._gathered: list[Any] = []
        self._rows = self._partial_rows = self._missing_rows = self._cut_rows = 0
        self._missing: set[str] = set()

    def write(self, _query: OutputQuery, batch: Batch) -> None:
        """Take a batch; write a row group when there are enough."""
        self._gathered.append(batch.to_arrow())
        self._rows += batch.row_count
        self._partial_rows += batch.row_count * batch.is_partial
        self._missing_rows += batch.row_count * bool(batch.missing)
        self._missing.update(batch.missing)
        self._cut_rows += batch.row_count * batch.is_cut
        if self._rows >= ROWS_PER_GROUP:
            self._write_group()

    def close(self) -> None:
        """Write the last row group and the footer, which says how many rows are partial."""
        self._write_group()
        if marks := self._marks():
            self._writer.add_key_value_metadata(marks)
        self._writer.close()

    def _marks(self) -> dict[str, str]:
        marks: dict[str, str] = {}
        if self._partial_rows:
            marks |= {PARTIAL: "true", PARTIAL_ROWS: str(self._partial_rows)}
        if self._missing_rows:
            names = ",".join(sorted(self._missing))
            marks |= {MISSING: names, MISSING_ROWS: str(self._missing_rows)}
        if self._cut_rows:
            marks |= {CUT: "true", CUT_ROWS: str(self._cut_rows)}
        return marks

    def _write_group(self) -> None:
        import pyarrow

        if self._gathered:
            self._writer.write_table(pyarrow.Table.from_batches(self._gathered, self._schema))
        self._gathered, self._rows = [], 0


def open_writer(stream: BinaryIO, queries: tuple[OutputQuery, ...]) -> ParquetWriter:
    """Return a writer for the only query."""
    (query,) = queries
    return ParquetWriter(stream, query.arrow_schema())
