# SPDX-License-Identifier: Apache-2.0
"""The open segment: rows on their way into one Arrow IPC stream.

Small batches are put together before they are written: a reader pays for each batch, and so does
the file (about a kilobyte of message for eight columns).
"""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path

import pyarrow
from pyarrow import ipc

_GATHERED_ROWS = 1 << 14


class OpenSegment:
    """A segment that is being written, under its final name; nobody reads it before it is listed.

    Methods raise OSError.
    """

    def __init__(self, path: Path, number: int, schema: pyarrow.Schema, sequence: int) -> None:
        self.path = path
        self.number = number
        self.rows = 0
        self.first = self.last = sequence
        self.opened_ns = time.monotonic_ns()
        self._waiting: list[pyarrow.RecordBatch] = []
        self._waiting_rows = 0
        self._waiting_bytes = 0
        self._file = pyarrow.OSFile(str(path), "wb")
        self._stream = ipc.new_stream(self._file, schema)
        self._schema = schema

    def write(self, batch: pyarrow.RecordBatch, sequence: int) -> None:
        """Add a batch's rows."""
        self.rows += batch.num_rows
        self.last = sequence
        self._waiting.append(batch)
        self._waiting_rows += batch.num_rows
        self._waiting_bytes += batch.nbytes
        if self._waiting_rows >= _GATHERED_ROWS:
            self._flush()

    @property
    def size_bytes(self) -> int:
        """About how large the file will be."""
        return int(self._file.tell()) + self._waiting_bytes

    @property
    def age_ns(self) -> int:
        return time.monotonic_ns() - self.opened_ns

    def close(self) -> None:
        """Write what waits, and the end of the stream."""
        self._flush()
        self._stream.close()
        self._file.close()

    def abandon(self) -> None:
        """Let go of the file after an error; it stays, unlisted, for the next run to tell of."""
        self._waiting.clear()
        for part in (self._stream, self._file):
            with suppress(OSError):
                part.close()

    def _flush(self) -> None:
        if len(self._waiting) == 1:
            self._stream.write_batch(self._waiting[0])
        elif self._waiting:
            table = pyarrow.Table.from_batches(self._waiting, self._schema)
            self._stream.write_table(table.combine_chunks())
        self._waiting.clear()
        self._waiting_rows = self._waiting_bytes = 0
