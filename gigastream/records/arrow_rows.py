# SPDX-License-Identifier: Apache-2.0
"""Arrow IPC, a stream or a file, whose columns are the fields by name.

What a message declares is looked at before anything is allocated for it: no read is larger than
MAX_PIECE_BYTES (record_input.py), and none unpacks to more than it is (gigastream/ipc_messages.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

import pyarrow
from pyarrow import compute, ipc

from gigastream.ipc_messages import checked_message
from gigastream.records.record_input import RecordInput
from gigastream.records.values import MAX_STRING_BYTES, MISSING, UNIT_NS, Instant

FILE_MAGIC = b"ARROW1\0\0"
SLICE_ROWS = 1024
"""That are Python's at once."""
Row = tuple[int, Sequence[object] | str]


class ArrowError(Exception):
    """It is no Arrow IPC, or breaks off."""


def rows(source: RecordInput, names: Sequence[str]) -> Iterator[Row]:
    """Yield the fields of each row, with its number. ArrowError: what came before is good."""
    if source.peek(len(FILE_MAGIC)) == FILE_MAGIC:
        source.read(len(FILE_MAGIC))  # a file is a stream, with a footer behind it
    number = 0
    try:
        for batch in _batches(source):
            yield from batch_rows(batch, names, number)
            number += batch.num_rows
    except BrokenPipeError:
        raise
    except (pyarrow.ArrowException, OSError, ValueError) as problem:
        raise ArrowError(_reason(problem)) from None


def _reason(problem: Exception) -> str:
    return ascii(str(problem).split("\n")[0][:200])[1:-1] or type(problem).__name__


def _batches(source: RecordInput) -> Iterator[pyarrow.RecordBatch]:
    """Yield record batches, each checked; dictionaries would let few bytes be many."""
    reader = ipc.MessageReader.open_stream(pyarrow.PythonFile(source, mode="r"))
    with suppress(StopIteration):
        message = reader.read_next_message()
        if message.type != "schema":
            raise pyarrow.ArrowInvalid("it begins without a schema")
        schema = ipc.read_schema(message)
        while True:
            message = checked_message(reader.read_next_message())
            if message.type != "record batch":
                raise pyarrow.ArrowInvalid(f"a message that is no record batch: {message.type}")
            batch = ipc.read_record_batch(message, schema)
            if batch.num_rows > 8 * message.body.size:  # columns of NULL alone have no bytes
                raise pyarrow.ArrowInvalid(f"{batch.num_rows:,} rows of less than a bit each")
            batch.validate(full=True)
            yield batch


def batch_rows(batch: pyarrow.RecordBatch, names: Sequence[str], before: int) -> Iterator[Row]:
    """Yield the rows of a batch that has been validated, `before` rows being before it."""
    places = [_place(name, batch.schema.names) for name in names]
    for begin in range(0, batch.num_rows, SLICE_ROWS):
        part = batch.slice(begin, SLICE_ROWS)
        columns = [
            [MISSING] * part.num_rows if at is None else _values(part.column(at)) for at in places
        ]
        for offset, values in enumerate(zip(*columns, strict=True)):
            yield before + begin + offset + 1, values


def _place(name: str, columns: Sequence[str]) -> int | None:
    if name in columns:
        return columns.index(name)
    lower = [column.lower() for column in columns]
    return lower.index(name.lower()) if name.lower() in lower else None


def _values(column: pyarrow.Array) -> list[Any]:
    kind = column.type
    if pyarrow.types.is_timestamp(kind):
        unit = UNIT_NS[kind.unit]
        numbers = column.cast(pyarrow.int64()).to_pylist()
        return [None if number is None else Instant(number * unit) for number in numbers]
    if pyarrow.types.is_dictionary(kind):
        column, kind = _short(column.dictionary).take(column.indices), kind.value_type
    texts = (pyarrow.types.is_string, pyarrow.types.is_binary)
    if any(is_kind(kind) for is_kind in (*texts, *_LARGE)):
        return list(_short(column).to_pylist())
    if any(is_kind(kind) for is_kind in _TAKEN):
        return list(column.to_pylist())
    return [_Foreign(str(kind))] * len(column)


class _Foreign:
    """A value of a type that no field has."""

    def __init__(self, kind: str) -> None:
        self._kind = kind

    def __repr__(self) -> str:
        return f"a value of {self._kind}"


_LARGE = (pyarrow.types.is_large_string, pyarrow.types.is_large_binary)
_TAKEN = (
    pyarrow.types.is_boolean,
    pyarrow.types.is_integer,
    pyarrow.types.is_floating,
    pyarrow.types.is_fixed_size_binary,
    pyarrow.types.is_null,
)


def _short(column: pyarrow.Array) -> pyarrow.Array:
    """Texts, NULL in the place of those that are longer than any string: they are not copied."""
    is_short = compute.less_equal(compute.binary_length(column), MAX_STRING_BYTES)
    return compute.if_else(is_short, column, pyarrow.scalar(None, column.type))
