# SPDX-License-Identifier: Apache-2.0
"""The open segment: rows on their way into one Arrow IPC stream.

Small batches are put together before they are written: a reader pays for each batch, and so does
the file (about a kilobyte of message for eight columns).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pyarrow
from pyarrow import ipc

from gigastream.spool.files import NEW, opened
from gigastream.spool.value_ranges import ValueRanges

_GATHERED_ROWS = 1 << 14
_GATHERED_BYTES = 1 << 20


class OpenSegment:
    """A segment that is being written, under its final name; nobody reads it before it is listed.

    Its file is opened when the first rows are written into it: what waits needs no descriptor.
    `make` makes its folder then. Methods raise OSError.
    """

    def __init__(
        self,
        path: Path,
        number: int,
        schema: pyarrow.Schema,
        sequence: int,
        make: Callable[[], None],
        ranges: ValueRanges,
    ) -> None:
        self.path = path
        self.number = number
        self.rows = 0
        self.first = self.last = sequence
        self.opened_ns = time.monotonic_ns()
        self._waiting: list[pyarrow.RecordBatch] = []
        self._waiting_rows = 0
        self._waiting_bytes = 0
        self._file: pyarrow.NativeFile | None = None
        self._stream: ipc.RecordBatchStreamWriter | None = None
        self._schema = schema
        self._make = make
        self.ranges = ranges

    def write(self, batch: pyarrow.RecordBatch, sequence: int) -> None:
        """Add a batch's rows."""
        self.rows += batch.num_rows
        self.ranges.take(batch)
        self.last = sequence
        self._waiting.append(batch)
        self._waiting_rows += batch.num_rows
        self._waiting_bytes += batch.nbytes

    @property
    def is_full(self) -> bool:
        """Whether what waits is worth writing."""
        return self._waiting_rows >= _GATHERED_ROWS or self._waiting_bytes >= _GATHERED_BYTES

    @property
    def is_open(self) -> bool:
        """Whether it holds a descriptor."""
        return self._file is not None

    @property
    def size_bytes(self) -> int:
        """About how large the file will be."""
        written = 0 if self._file is None else int(self._file.tell())
        return written + self._waiting_bytes

    @property
    def age_ns(self) -> int:
        return time.monotonic_ns() - self.opened_ns

    def close(self) -> None:
        """Write what waits, and the end of the stream."""
        self.flush()
        if self._stream is not None:
            self._stream.close()
        if self._file is not None:
            self._file.close()
            self._file = None

    def abandon(self) -> None:
        """Let go of the file after an error; it stays, unlisted, for the next run to tell of."""
        self._waiting.clear()
        for part in (self._stream, self._file):
            with suppress(OSError, pyarrow.ArrowInvalid):  # its file may be closed
                if part is not None:
                    part.close()
        self._file = None

    def flush(self) -> None:
        """Write what waits."""
        if self._stream is None:
            self._open()
        assert self._stream is not None
        if len(self._waiting) == 1:
            self._stream.write_batch(self._waiting[0])
        elif self._waiting:
            table = pyarrow.Table.from_batches(self._waiting, self._schema)
            self._stream.write_table(table.combine_chunks())
        self._waiting.clear()
        self._waiting_rows = self._waiting_bytes = 0

    def _open(self) -> None:
        self._make()
        # Not a name that something of another's stands behind: neither a link nor a pipe.
        self.path.unlink(missing_ok=True)
        with opened(self.path, NEW):
            pass
        self._file = pyarrow.OSFile(str(self.path), "wb")
        self._stream = ipc.new_stream(self._file, self._schema)
