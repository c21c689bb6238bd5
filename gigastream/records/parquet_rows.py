# SPDX-License-Identifier: Apache-2.0
"""Parquet files, whose columns are the fields by name.

What a file declares is looked at before Parquet allocates it: the footer, the pages of the columns
that are read (parquet_pages.py). Texts stay dictionaries, so that a word that stands in a million
rows is held once.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator, Sequence

import pyarrow
from pyarrow import parquet

from gigastream.records.arrow_rows import SLICE_ROWS, ArrowError, Row, batch_rows
from gigastream.records.parquet_pages import PageError, check_pages
from gigastream.records.record_input import MAX_PIECE_BYTES, TooLargeError

MAGIC = b"PAR1"
_MAX_FOOTER_BYTES = 1 << 24
_MAX_ITEMS = 1 << 20


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
    except (pyarrow.ArrowException, PageError, OSError, ValueError) as problem:
        raise ArrowError(ascii(str(problem).split("\n")[0][:200])[1:-1]) from None


def _batches(file: BoundedFile, names: Sequence[str]) -> Iterator[pyarrow.RecordBatch]:
    _check_footer(file)
    wanted = {name.lower() for name in names}
    with pyarrow.PythonFile(file, mode="r") as source:
        limits = {"thrift_string_size_limit": _MAX_FOOTER_BYTES}
        meta = parquet.read_metadata(source)
        found = [meta.schema.column(n) for n in range(meta.num_columns)]
        read = [n for n, column in enumerate(found) if column.path.lower() in wanted]
        paths = [found[n].path for n in read]
        texts = [found[n].path for n in read if found[n].physical_type == "BYTE_ARRAY"]
        opened = parquet.ParquetFile(
            source,
            metadata=meta,
            read_dictionary=texts,
            thrift_container_size_limit=_MAX_ITEMS,
            pre_buffer=False,
            **limits,
        )
        for group in range(meta.num_row_groups):
            check_pages(file, meta.row_group(group), read)
            for batch in opened.iter_batches(SLICE_ROWS, [group], paths, use_threads=False):
                batch.validate(full=True)
                yield batch


def _check_footer(file: BoundedFile) -> None:
    file.seek(-8, os.SEEK_END)
    tail = file.read(8)
    if len(tail) < 8 or tail[4:] != MAGIC:
        raise pyarrow.ArrowInvalid("it ends without Parquet's footer")
    (size,) = struct.unpack("<I", tail[:4])
    if size > min(_MAX_FOOTER_BYTES, file.size):
        raise pyarrow.ArrowInvalid(f"its footer says that it has {size:,} bytes")
    file.seek(0)
