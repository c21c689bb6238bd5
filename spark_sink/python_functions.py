# SPDX-License-Identifier: Apache-2.0
"""Functions in Python in workers: the types inside as Arrow's of GSQL, and back.

The text of the file that the driver was given travels with the tasks, never that of a spool; each
process runs it once (gigastream/batch_calls.py).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import suppress

import pyarrow as pa
import pyarrow.compute as pc

from gigastream.batch_calls import BatchCall, CallError
from gigastream.group_calls import RowsCall, kept_rows
from spark_sink.errors import FunctionError

INSIDE = {
    pa.uint16(): pa.int32(),
    pa.uint32(): pa.int64(),
    pa.uint64(): pa.decimal128(20, 0),
    pa.binary(16): pa.binary(),
    pa.timestamp("ns", "UTC"): pa.int64(),
}
"""How Spark holds what Arrow has in a type of GSQL, where it is another one."""
VALUE, GIVEN = "value", "given"
TOLD = "__gigastream_told__"
"""The attribute of a function of which a process has told what it raises."""


def answering(call: BatchCall | RowsCall, types: Sequence[pa.DataType]) -> Callable[..., pa.Array]:
    """What a worker does for a call whose arguments are of these types of GSQL."""

    def answer(*columns: pa.Array) -> pa.Array:
        return answered(call, types, columns)

    return answer


def keeping(most_bytes: int) -> Callable[[pa.Array], pa.Array]:
    """What a worker makes of lists of rows: what their groups keep."""

    def kept(lists: pa.Array) -> pa.Array:
        found = [kept_rows(rows.as_py() or (), most_bytes) for rows in lists]
        return pa.array(found, pa.binary())

    return kept


def answered(
    call: BatchCall | RowsCall, types: Sequence[pa.DataType], columns: Sequence[pa.Array]
) -> pa.Array:
    """Structs of a value and whether there is one, of columns in the types inside."""
    given = [_of_gsql(column, type_) for column, type_ in zip(columns, types, strict=True)]
    try:
        values, there = call.answer(given)
    except CallError as error:
        raise FunctionError(str(error)) from None
    if isinstance(call, BatchCall) and call.raised.times:
        _tell(call)
    inside = INSIDE.get(call.result, call.result)
    if pa.types.is_timestamp(call.result):
        values = values.view(inside)
    return pa.StructArray.from_arrays([values.cast(inside), there], [VALUE, GIVEN])


def _tell(call: BatchCall) -> None:
    """What it raises goes to the worker's stderr, once in each process."""
    function = call.load()
    if getattr(function, TOLD, False):
        return
    with suppress(AttributeError):  # it may be one that takes none: then once in each task
        setattr(function, TOLD, True)
    print(f"gigastream: {call.name} raises, first {call.raised.first}", file=sys.stderr)


def _of_gsql(column: pa.Array, wanted: pa.DataType) -> pa.Array:
    if pa.types.is_timestamp(wanted):
        return column.cast(pa.int64()).view(wanted)
    if pa.types.is_fixed_size_binary(wanted):
        fits = pc.equal(pc.binary_length(column), wanted.byte_width)
        return pc.if_else(fits, column, None).cast(wanted)
    return column.cast(wanted)
