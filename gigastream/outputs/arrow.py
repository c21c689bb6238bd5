# SPDX-License-Identifier: Apache-2.0
"""The Arrow IPC stream format: readable while it is written, from a pipe as from a file."""

from __future__ import annotations

from typing import Any, BinaryIO

from gigastream.outputs import Batch, OutputQuery, marks_of


class ArrowWriter:
    """Hands the engine's buffers to pyarrow."""

    def __init__(self, stream: BinaryIO, schema: Any) -> None:
        import pyarrow

        self._writer = pyarrow.ipc.new_stream(stream, schema)

    def write(self, _query: OutputQuery, batch: Batch) -> None:
        """Write one record batch, which says whether its windows are incomplete."""
        self._writer.write_batch(batch.to_arrow(), custom_metadata=marks_of(batch) or None)

    def close(self) -> None:
        """Write the end of the stream."""
        self._writer.close()


def open_writer(stream: BinaryIO, queries: tuple[OutputQuery, ...]) -> ArrowWriter:
    """Write the schema; return a writer for the only query."""
    (query,) = queries
    return ArrowWriter(stream, query.arrow_schema())
