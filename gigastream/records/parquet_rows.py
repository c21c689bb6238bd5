# SPDX-License-Identifier: Apache-2.0
"""Parquet files, whose columns are the fields by name.

What a file declares is looked at before Parquet allocates it: the footer (parquet_footer.py), the
pages of the columns that are read (parquet_pages.py). Where its numbers of rows differ, rows are
missing. Texts stay dictionaries, so that a word that stands in a million rows is held once.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

import pyarrow
from pyarrow import parquet

from gigastream.records.arrow_rows import SLICE_ROWS, ArrowError, Row, batch_rows
from gigastream.records.parquet_footer import MAX_FOOTER_BYTES, Footer, FooterError, read_footer
from gigastream.records.parquet_pages import MAX_SLICE_BYTES, PageError, Pages, check_pages
from gigastream.records.record_input import MAX_PIECE_BYTES, TooLargeError

_MAX_ITEMS = 1 << 20
_BYTES = "BYTE_ARRAY"
_BUFFER_BYTES = 1 << 20
"""Of a column, which is else read whole: a group of rows may have gigabytes of it."""


class BoundedFile:
    """A file's bytes for Parquet; no read is larger than MAX_PIECE_BYTES."""

    closed = False

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self.size = os.fstat(descriptor).st_size
        self._at = 0

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes. TooLargeError."""
        if not 0 <= size <= MAX_PIECE_BYTES:
            raise TooLargeError(f"a piece of {size:,} bytes: {MAX_PIECE_BYTES:,} are the most")
        data = os.pread(self._descriptor, size, self._at)
        self._at += len(data)
        return data

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Go to a place."""
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self.size}[whence]
        self._at = max(0, base + offset)
        return self._at

    def tell(self) -> int:
        """Return the place."""
        return self._at

    def close(self) -> None:
        """Do nothing: the descriptor is its opener's."""


def rows(descriptor: int, names: Sequence[str]) -> Iterator[Row]:
    """Yield the fields of each row, with its number. ArrowError: what came before is good."""
    number = 0
    try:
        for batch in _batches(BoundedFile(descriptor), names):
            yield from batch_rows(batch, names, number)
            number += batch.num_rows
    except (pyarrow.ArrowException, FooterError, PageError, OSError, ValueError) as problem:
        raise ArrowError(ascii(str(problem).split("\n")[0][:200])[1:-1]) from None


def _batches(file: BoundedFile, names: Sequence[str]) -> Iterator[pyarrow.RecordBatch]:
    footer = read_footer(file)
    file.seek(0)
    wanted = {name.lower() for name in names}
    with pyarrow.PythonFile(file, mode="r") as source:
        meta = parquet.read_metadata(source)
        found = [meta.schema.column(n) for n in range(meta.num_columns)]
        flat = [n for n, column in enumerate(found) if column.max_repetition_level == 0]
        read = [n for n in flat if found[n].path.lower() in wanted]  # a row of others has no bound
        counted = read or flat[:1]
        _check_columns(footer, meta)
        _check_rows(footer, counted)
        for group, chunks in enumerate(footer.columns):
            pages = {n: check_pages(file, chunks[n]) for n in counted}
            rows = min((_rows_at_once(found[n], pages[n]) for n in read), default=SLICE_ROWS)
            words = [found[n].path for n in read if _is_text(found[n]) and pages[n].by_dictionary]
            opened = _opened(source, meta, words)
            paths = [found[n].path for n in read]
            for batch in opened.iter_batches(rows, [group], paths, use_threads=False):
                batch.validate(full=True)
                yield batch


def _is_text(column: parquet.ColumnSchema) -> bool:
    return bool(column.physical_type == _BYTES and column.logical_type.type != "DECIMAL")


def _rows_at_once(column: parquet.ColumnSchema, pages: Pages) -> int:
    """Of a column that is read; where all values have as many bytes NULL has them, too."""
    most = SLICE_ROWS
    if column.physical_type == "FIXED_LEN_BYTE_ARRAY":
        if column.length > MAX_PIECE_BYTES:
            size = f"{column.length:,} bytes: {MAX_PIECE_BYTES:,} are the most"
            raise PageError(f"a value of {column.path} has {size}")
        most = min(most, MAX_SLICE_BYTES // max(column.length, 1))
    keeps_words = column.physical_type != _BYTES or _is_text(column)
    return pages.rows_at_once(most, keeps_words=keeps_words)


def _opened(
    source: pyarrow.PythonFile, meta: parquet.FileMetaData, words: Sequence[str]
) -> parquet.ParquetFile:
    """The file for reading a group of rows, of which `words` are dictionaries and stay so."""
    return parquet.ParquetFile(
        source,
        metadata=meta,
        read_dictionary=words,
        thrift_string_size_limit=MAX_FOOTER_BYTES,
        thrift_container_size_limit=_MAX_ITEMS,
        pre_buffer=False,
        buffer_size=_BUFFER_BYTES,
    )


def _check_columns(footer: Footer, meta: parquet.FileMetaData) -> None:
    """Raise PageError where it is not what Parquet has read."""
    counts = {len(chunks) for chunks in footer.columns}
    if len(footer.columns) != meta.num_row_groups or not counts <= {meta.num_columns}:
        raise PageError("its columns are not those of its schema")


def _check_rows(footer: Footer, columns: Sequence[int]) -> None:
    """Raise PageError where the footer's numbers of rows are not those of its columns' values."""
    if not columns:
        raise PageError("it has no column of plain values")
    for rows, chunks in zip(footer.rows, footer.columns, strict=True):
        if {chunks[number].values for number in columns} != {rows}:
            raise PageError(f"{rows:,} rows together, whose columns have other numbers")
