# SPDX-License-Identifier: Apache-2.0
"""JSON lines; with several queries each object begins with the query's name."""

from __future__ import annotations

from typing import BinaryIO

from gigastream.outputs import Batch, OutputQuery


class JsonWriter:
    """Writes what the engine has formatted."""

    def __init__(self, stream: BinaryIO, names_queries: bool) -> None:
        self._stream = stream
        self._names_queries = names_queries

    def write(self, query: OutputQuery, batch: Batch) -> None:
        """Write one object a row."""
        self._stream.write(batch.json(query.name if self._names_queries else None))

    def close(self) -> None:
        """Nothing belongs at the end."""


def open_writer(stream: BinaryIO, queries: tuple[OutputQuery, ...]) -> JsonWriter:
    """Return a writer for all queries."""
    return JsonWriter(stream, names_queries=len(queries) > 1)
