# SPDX-License-Identifier: Apache-2.0
"""Arrow back into the engine: the same rows, and nothing that is damaged."""

from __future__ import annotations

import ctypes
import random
import struct
from typing import Any

import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gigastream.arrow_schema import arrow_schema
from gigastream.engine._native import ffi, lib
from gigastream.engine.batch import EngineError, NativeBatch, lend_to_c, native_schema
from gigastream.gsql.types import Column, Schema, Type
from gigastream.sessions.session import Session
from tests.engine.whole_and_parts import GOLDEN_INPUTS, Inputs, plan_of_all, sources

INTEGERS = [t for t in Type if t.is_integer or t is Type.TIMESTAMP]
OPAQUE = [Type.opaque(size) for size in (1, 3, 7, 13, 64)]
VALUES: dict[Type, st.SearchStrategy[Any]] = {
    Type.BOOL: st.booleans(),
    Type.FLOAT: st.floats(allow_nan=False),
    Type.STRING: st.binary(max_size=20),
    Type.IP: st.integers(0, 2**32 - 1),
    Type.IPV6: st.binary(min_size=16, max_size=16),
    Type.INET: st.binary(min_size=16, max_size=16),
    **{t: st.integers(*t.limits) for t in INTEGERS},
    **{t: st.binary(min_size=t.size, max_size=t.size) for t in OPAQUE},
}
ALL_TYPES = Schema(
    tuple(
        Column(f"{t}_{nullable}", t, nullable=nullable)
        for t in (*Type, *OPAQUE)
        for nullable in (False, True)
    )
)
STRING, UINT = Column("c", Type.STRING), Column("c", Type.UINT)


@pytest.mark.parametrize("inputs", GOLDEN_INPUTS, ids=str)
def test_there_and_back(inputs: Inputs) -> None:
    """Every batch of every golden query, as csv and as json; and any part of it."""
    plan = plan_of_all(inputs)
    schemas = {output.name: output.schema for output in plan.outputs}
    with Session(plan, sources(inputs)) as session:
        for event in session.batches():
            rows, text, schema = event.batch.to_arrow(), event.batch.csv(), schemas[event.query]
            back = NativeBatch.from_arrow(rows, schema)
            assert (back.csv(), back.json("q")) == (text, event.batch.json("q"))
            lines, middle = text.splitlines(keepends=True), rows.num_rows // 3
            if len(lines) == rows.num_rows:  # no text has a new line in it
                part = NativeBatch.from_arrow(rows.slice(middle, middle), schema)
                assert part.csv() == b"".join(lines[middle : 2 * middle])


def array_of(column: Column, values: list[Any]) -> pyarrow.Array:
    type_ = arrow_schema(Schema((column,))).field(0).type
    if column.type is Type.TIMESTAMP:
        return pyarrow.array(values, pyarrow.int64()).cast(type_)
    return pyarrow.array(values, type_)


@st.composite
def record_batches(draw: st.DrawFn) -> pyarrow.RecordBatch:
    """Some rows of a greater batch of all types."""
    rows = draw(st.integers(0, 40))
    arrays = []
    for column in ALL_TYPES.columns:
        value = VALUES[column.type]
        cell = st.none() | value if column.nullable else value
        arrays.append(array_of(column, draw(st.lists(cell, min_size=rows, max_size=rows))))
    first = draw(st.integers(0, rows))
    batch = pyarrow.record_batch(arrays, schema=arrow_schema(ALL_TYPES))
    return batch.slice(first, draw(st.integers(0, rows - first)))


@settings(max_examples=60)
@given(record_batches())
def test_all_types(batch: pyarrow.RecordBatch) -> None:
    back = NativeBatch.from_arrow(batch, ALL_TYPES).to_arrow()
    assert back.schema.equals(batch.schema, check_metadata=True)
    back.validate(full=True)
    assert back.equals(batch)


def test_it_outlives_what_it_was_made_of() -> None:
    column = Column("s", Type.STRING)
    batch = NativeBatch.from_arrow(
        batch_of(column, array_of(column, [b"a", b"bc"])), schema(column)
    )
    arrow = batch.to_arrow()
    del batch
    assert arrow.to_pydict() == {"s": [b"a", b"bc"]}
    assert NativeBatch.from_arrow(arrow, schema(column)).csv() == b"a\nbc\n"


def schema(*columns: Column) -> Schema:
    return Schema(columns)


def batch_of(column: Column, array: pyarrow.Array) -> pyarrow.RecordBatch:
    return pyarrow.RecordBatch.from_arrays([array], [column.name])


def test_validity_without_nulls_is_no_objection() -> None:
    array = pyarrow.array([1, None, 3], pyarrow.uint32())[2:]
    assert NativeBatch.from_arrow(batch_of(UINT, array), schema(UINT)).csv() == b"3\n"


def strings(offsets: tuple[int, ...]) -> pyarrow.RecordBatch:
    """Strings with these offsets into as many bytes, read from a file: nobody has checked them."""
    count = len(offsets) - 1
    good = batch_of(STRING, pyarrow.array([bytes([at]) for at in range(count)], pyarrow.binary()))
    sink = pyarrow.BufferOutputStream()
    with pyarrow.ipc.new_stream(sink, good.schema) as writer:
        writer.write_batch(good)
    packed = struct.pack(f"{count + 1}i", *range(count + 1))
    head, found, tail = bytes(sink.getvalue()).rpartition(packed)
    assert found
    damaged = head + struct.pack(f"{count + 1}i", *offsets) + tail
    return pyarrow.ipc.open_stream(damaged).read_next_batch()


Values = pyarrow.Array | pyarrow.RecordBatch
REFUSED: dict[str, tuple[Column, Values, str]] = {
    "another type": (UINT, pyarrow.array([1], pyarrow.int32()), "type 'i', not 'I'"),
    "a text": (STRING, pyarrow.array(["a"]), "type 'u', not 'z'"),
    "another unit": (
        Column("c", Type.TIMESTAMP),
        pyarrow.array([1], pyarrow.timestamp("us", "UTC")),
        "type 'tsu:UTC'",
    ),
    "other addresses": (
        Column("c", Type.INET),
        pyarrow.array([bytes(4)], pyarrow.binary(4)),
        "type 'w:4'",
    ),
    "bytes of another size": (
        Column("c", Type.opaque(13)),
        pyarrow.array([bytes(12)], pyarrow.binary(12)),
        "type 'w:12', not 'w:13'",
    ),
    "strings for bytes of a size": (
        Column("c", Type.opaque(13)),
        pyarrow.array([bytes(13)], pyarrow.binary()),
        "type 'z', not 'w:13'",
    ),
    "a dictionary": (STRING, pyarrow.array([b"a"]).dictionary_encode(), "type 'i'"),
    "a list": (STRING, pyarrow.array([[b"a"]]), r"type '\+l'"),
    "nulls": (UINT, pyarrow.array([1, None], pyarrow.uint32()), "has nulls where there are none"),
    "offsets that go back": (STRING, strings((0, 3, 1, 3)), "offsets that go back"),
    "a negative offset": (STRING, strings((-1, 1, 3, 3)), "negative offset|damaged Arrow batch"),
    "an offset beyond the bytes": (STRING, strings((0, 1, 99, 120)), "damaged Arrow batch"),
    "a later offset beyond the bytes": (STRING, strings((0, 99, 3, 3)), "go back|damaged"),
}


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED)
def test_what_is_refused(case: tuple[Column, Values, str]) -> None:
    column, values, reason = case
    is_batch = isinstance(values, pyarrow.RecordBatch)
    batch = values if is_batch else batch_of(column, values)
    with pytest.raises(EngineError, match=reason):
        NativeBatch.from_arrow(batch, schema(column))


def test_other_columns_are_refused() -> None:
    batch = batch_of(UINT, pyarrow.array([1], pyarrow.uint32()))
    with pytest.raises(EngineError, match="1 columns instead of 2"):
        NativeBatch.from_arrow(batch, schema(UINT, STRING))
    with pytest.raises(EngineError, match="column c instead of d"):
        NativeBatch.from_arrow(batch, schema(Column("d", Type.UINT)))


@settings(max_examples=200)
@given(st.lists(st.integers(-5, 12), min_size=3, max_size=8), st.integers(0, 7))
def test_any_offsets(offsets: list[int], first: int) -> None:
    """Refused, or what pyarrow itself makes of them after it has looked at all."""
    batch = strings(tuple(offsets))
    rows = batch.slice(min(first, batch.num_rows))
    try:
        back = NativeBatch.from_arrow(rows, schema(STRING)).to_arrow()
    except EngineError:
        return
    if rows.num_rows:
        rows.validate(full=True)
    assert back.to_pydict() == rows.to_pydict()


@pytest.mark.parametrize("size", [1, 4095, 4096])
def test_bytes_of_a_size(size: int) -> None:
    """Every part of many rows, and a format that is read after its parent is gone."""
    column, rng = Column("c", Type.opaque(size), nullable=True), random.Random(size)
    values = [rng.randbytes(size) if rng.random() < 0.9 else None for _ in range(300)]
    batch = pyarrow.record_batch([array_of(column, values)], schema=arrow_schema(schema(column)))
    for first in (0, 1, 7, 299):
        back = NativeBatch.from_arrow(batch.slice(first), schema(column))
        assert back.to_arrow().to_pydict() == {"c": values[first:]}
        texts = ["" if value is None else value.hex() for value in values[first:]]
        assert back.csv().decode().split("\n")[:-1] == texts


# The C data interface, spoken badly


class ArrowArray(ctypes.Structure):
    """As its specification has it."""


ArrowArray._fields_ = [
    *((name, ctypes.c_int64) for name in ("length", "null_count", "offset", "n_buffers")),
    ("n_children", ctypes.c_int64),
    ("buffers", ctypes.POINTER(ctypes.c_void_p)),
    ("children", ctypes.POINTER(ctypes.POINTER(ArrowArray))),
]
HUGE = (1 << 63) - 1
BAD_COUNTS: list[dict[str, int]] = [
    {"length": -1},
    {"length": 4},
    {"length": HUGE},
    {"offset": -1},
    {"offset": 1},
    {"offset": HUGE},
    {"offset": HUGE, "length": HUGE},
    {"null_count": -2},
    {"null_count": 4},
    {"null_count": 1},
    {"n_buffers": 1},
    {"n_buffers": 0},
]


HARMLESS: list[tuple[str, dict[str, int]]] = [
    ("whole", {"null_count": 1}),
    ("whole", {"n_buffers": 0}),
    ("whole", {"n_buffers": 1}),
    ("child", {"length": 4}),
]
"""It is not said which row is null; a buffer may be missing, or rows that nobody asked for."""


def imported(whom: str, counts: dict[str, int]) -> int:
    """The status of an import of three strings, of which the whole or the child lies."""
    rows = batch_of(STRING, pyarrow.array([b"a", b"b", b"c"], pyarrow.binary()))
    array, arrow_schema = lend_to_c(rows)
    address = int(ffi.cast("uintptr_t", array))
    said = ArrowArray.from_address(address)
    told = said if whom == "whole" else said.children[0].contents
    for name, value in counts.items():
        setattr(told, name, value)
    native, _keep = native_schema(schema(STRING))
    batch, error = ffi.new("struct gs_batch **"), ffi.new("struct gs_error *")
    status = int(lib.gs_batch_import(array, arrow_schema, native, batch, error))
    assert (batch[0] == ffi.NULL) == (status != lib.GS_OK)
    if batch[0] != ffi.NULL:
        NativeBatch(batch[0])
    return status


@pytest.mark.parametrize("whom", ["whole", "child"])
@pytest.mark.parametrize("counts", BAD_COUNTS, ids=str)
def test_counts_that_cannot_be(whom: str, counts: dict[str, int]) -> None:
    status = lib.GS_OK if (whom, counts) in HARMLESS else lib.GS_ERROR
    assert imported(whom, counts) == status
    assert imported(whom, {}) == lib.GS_OK
