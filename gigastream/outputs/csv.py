# SPDX-License-Identifier: Apache-2.0
"""csv as RFC 4180 has it, always with a header."""

from __future__ import annotations

from typing import BinaryIO

from gigastream.outputs import Batch, OutputQuery

_TO_QUOTE = frozenset('",\r\n')


class CsvWriter:
    """Writes what the engine has formatted."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    def write(self, _query: OutputQuery, batch: Batch) -> None:
        """Write one line a row."""
        self._stream.write(batch.csv())

    def close(self) -> None:
        """Nothing belongs at the end."""


def open_writer(stream: BinaryIO, queries: tuple[OutputQuery, ...]) -> CsvWriter:
    """Write the header; return a writer for the only query."""
    (query,) = queries
    stream.write(header(query))
    return CsvWriter(stream)


def header(query: OutputQuery) -> bytes:
    """The line before the rows."""
    return (",".join(map(_cell, query.columns)) + "\n").encode()


def _cell(name: str) -> str:
    return '"' + name.replace('"', '""') + '"' if _TO_QUOTE & set(name) else name
