# SPDX-License-Identifier: Apache-2.0
"""The rows of a daemon's query in every output format, as a run here would write them."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from gigastream.cli.ending import stopped_by_signals
from gigastream.cli.errors import complain
from gigastream.cli.query_of_columns import query_of_columns
from gigastream.cli.stderr import say
from gigastream.late_dataclass import dataclass
from gigastream.outputs import (
    CUT,
    MISSING,
    PARTIAL,
    RowOutput,
    parse_output,
)
from gigastream.outputs.file import STDOUT_DESCRIPTOR
from gigastream.words import are, counted

if TYPE_CHECKING:
    import pyarrow

    from gigastream.daemon.client import ControlClient
    from gigastream.daemon.messages import TailLine
    from gigastream.gsql.types import Schema

Marks = Mapping[bytes, bytes]
"""What a batch says of its rows: PARTIAL, MISSING, CUT."""


@dataclass(frozen=True, slots=True)
class TailRequest:
    """What is wanted of a query's rows."""

    query: str
    set_name: str | None
    output: str
    """FORMAT[:PATH]."""
    count: int | None = None
    """Of rows, after which it is enough; None: until it is over."""
    after_s: float | None = None
    """The same of time."""


class TailedBatch:
    """Rows that have come over a socket, as the formats take them."""

    def __init__(self, rows: pyarrow.RecordBatch, marks: Marks) -> None:
        """Take over a batch; EngineError where it is damaged. `marks` are what it says of it."""
        from gigastream.engine.arrow_rows import batch_of_arrow

        self._native = batch_of_arrow(rows)
        self._rows = rows
        names = marks.get(MISSING.encode(), b"").decode(errors="replace")
        self.missing = tuple(names.split(",")) if names else ()
        self.is_partial = PARTIAL.encode() in marks
        self.is_cut = CUT.encode() in marks
        self.row_count = rows.num_rows
        self.memory_bytes = rows.nbytes
        self.bounds: tuple[int, ...] = ()
        """Nothing is promised of later rows."""
        self.is_end = False

    def csv(self) -> bytes:
        """One csv line a row."""
        return self._native.csv()

    def json(self, query_name: str | None) -> bytes:
        """One JSON object a row."""
        return self._native.json(query_name)

    def to_arrow(self) -> Any:
        """The rows as they came."""
        return self._rows


class TailDamageError(Exception):
    """What the daemon sends are no rows."""


class _TailPrinter:
    """Opens the output with the first batch, which has the columns."""

    def __init__(self, request: TailRequest) -> None:
        self._request = request
        self._format, self._path = parse_output(request.output)
        self._output: RowOutput | None = None
        self._schema: Schema | None = None
        self.lost = self.rows = 0

    @property
    def is_to_stdout(self) -> bool:
        return self._path is None

    @property
    def has_enough(self) -> bool:
        """Whether as many rows have come as are wanted, or none can be written any more."""
        count = self._request.count
        is_enough = count is not None and self.rows >= count
        return is_enough or bool(self._output is not None and self._output.failures)

    def take(self, line: TailLine) -> None:
        """Write the rows of a line; tell what is lost before them."""
        if line.lost:
            self.lost += line.lost
            say(
                f"gigastream: {counted(line.lost, 'row')} {are(line.lost)} lost here: "
                "they came faster than they were read, or a crash took them"
            )
        for rows, schema, marks in batches_of(line.arrow):
            output = self._opened(schema)
            self.rows += rows.num_rows
            output.write(self._request.query, TailedBatch(rows, marks))

    def _opened(self, schema: Schema) -> RowOutput:
        if self._output is None:
            query = query_of_columns(self._request.query, schema)
            self._schema = schema
            self._output = RowOutput(self._format, self._path, (query,))
            self._output.begin()
        elif schema != self._schema:
            raise TailDamageError(f"the columns of {self._request.query} have changed")
        return self._output

    def finish(self) -> int:
        """End the output; say what became of the rows. Returns the exit code."""
        if self._output is None:
            say(f"no row of {self._request.query} has come")
            return 0
        self._output.close()
        for failure in self._output.failures:
            complain(failure.message, failure.hint)
        return 1 if self._output.failures else 0


def print_tail(client: ControlClient, request: TailRequest) -> int:
    """Write rows as they come until the set is dropped, enough have come, or Ctrl-C."""
    from gigastream.daemon.messages import TailQuery

    printer = _TailPrinter(request)
    pipe = STDOUT_DESCRIPTOR if printer.is_to_stdout else None
    lines = client.tail(TailQuery(query=request.query, set_name=request.set_name), pipe)
    with stopped_by_signals(client, request.after_s) as asked:
        try:
            for line in lines:
                printer.take(line)
                if printer.has_enough or asked.has_stopped:
                    break
        except BrokenPipeError:
            raise
        except Exception:
            printer.finish()
            raise
        return printer.finish()


def batches_of(text: str) -> Iterator[tuple[pyarrow.RecordBatch, Schema, Marks]]:
    """Yield the batches of an Arrow stream in base64, with what each says of its rows."""
    import pyarrow

    from gigastream.engine.arrow_rows import schema_of_arrow

    if not text:
        return
    try:
        with pyarrow.ipc.open_stream(base64.b64decode(text, validate=True)) as stream:
            schema = schema_of_arrow(stream.schema)
            for item in stream.iter_batches_with_custom_metadata():
                yield item.batch, schema, dict(item.custom_metadata or {})
    except (pyarrow.ArrowException, OSError, binascii.Error, ValueError) as error:
        raise TailDamageError(f"what the daemon sends are no rows: {error}") from None
