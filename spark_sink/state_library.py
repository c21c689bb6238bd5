# SPDX-License-Identifier: Apache-2.0
"""UDAFs, and functions, of one's own in workers: shared objects over Arrow columns.

The driver compiles one, which travels with the tasks and is loaded once by each process: code of
definition files that the driver was given (gigastream/codegen/state_library.py and
function_library.py), never of a spool.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from spark_sink.remembered import remembered

_LIBRARIES = 64
_FIRST_BYTES = 1 << 16
_MESSAGE_BYTES = 256
IN_C = {
    "bool": pa.uint8(),
    "ushort": pa.uint16(),
    "uint": pa.uint32(),
    "int": pa.int32(),
    "ullong": pa.uint64(),
    "llong": pa.int64(),
    "float": pa.float64(),
    "string": pa.binary(),
    "IP": pa.uint32(),
    "IPV6": pa.binary(16),
    "INET": pa.binary(16),
    "timestamp": pa.int64(),
}
"""How C holds the values of a type of GSQL in a row; of an fstringN it is N bytes."""
INSIDE = {
    "bool": pa.bool_(),
    "ushort": pa.int32(),
    "uint": pa.int64(),
    "ullong": pa.decimal128(20, 0),
    "IP": pa.int64(),
    "IPV6": pa.binary(),
    "INET": pa.binary(),
}
"""And how Spark does, where it is another one."""


class HandleError(Exception):
    """A HANDLE argument of which nothing can be made."""


class Loaded:
    """A shared object, and what its HANDLE arguments were made into."""

    def __init__(self, image: bytes) -> None:
        # Both stay: the loader knows objects by their paths, and this one must not come again.
        file = os.memfd_create("gigastream-udaf", os.MFD_CLOEXEC)
        with os.fdopen(file, "wb", closefd=False) as stream:
            stream.write(image)
        self._library = ctypes.CDLL(f"/proc/self/fd/{file}", mode=os.RTLD_LOCAL)
        self._handles = (ctypes.c_void_p * (self._library.gs_handle_count() + 1))()
        message = ctypes.create_string_buffer(_MESSAGE_BYTES)
        if self._library.gs_open_handles(self._handles, message, _MESSAGE_BYTES) < 0:
            raise HandleError(message.value.decode(errors="replace"))

    def call(self, name: str, *arguments: Any) -> int:
        """Call a function over columns; it gives back a number of bytes, or nothing.

        Numbers have 64 bits there: of fewer, the rest of an argument on the stack is anything.
        """
        function = self._library[name]
        function.restype = ctypes.c_int64
        given = (ctypes.c_int64(a) if isinstance(a, int) else a for a in arguments)
        return int(function(self._handles, *given))


@remembered(_LIBRARIES)
def loaded(image: bytes) -> Loaded:
    """Once for each process: a worker lives through many tasks."""
    return Loaded(image)


def valid_states(image: bytes, name: str, size: int, partials: pa.Array) -> pa.Array:
    """Which of these bytes are partial states."""
    count, states = len(partials), _of_size(partials, size)
    found = pa.allocate_buffer(count)
    loaded(image).call(name, count, _address(states, size), _pointer(found))
    return _flags(found, count)


def merged_states(image: bytes, name: str, sizes: tuple[int, int], lists: pa.Array) -> pa.Array:
    """Of each list of partial states one state; NULL where a list is empty."""
    partial_size, size = sizes
    partials = _of_size(lists.flatten(), partial_size)
    return _states(image, name, size, lists, _address(partials, partial_size))


def states_of_rows(
    image: bytes, name: str, size: int, types: Sequence[str], lists: pa.Array
) -> pa.Array:
    """Of each list of rows, structs of arguments, a state; NULL where a list is empty."""
    rows = lists.flatten()
    columns = [_in_c(part, type_) for part, type_ in zip(rows.flatten(), types, strict=False)]
    values = _pointers([_values(column) for column in columns])
    offsets = _pointers([_offsets(column) for column in columns])
    return _states(image, name, size, lists, values, offsets)


def values_of_states(image: bytes, name: str, size: int, type_: str, states: pa.Array) -> pa.Array:
    """The values of states in the type that Spark has inside; NULL where there is none."""
    given = _of_size(states, size)
    made, valid = _made(loaded(image), name, type_, len(states), _address(given, size))
    return _inside(made, pc.and_(valid, states.is_valid()), type_)


def values_of_calls(
    image: bytes, name: str, type_: str, types: Sequence[str], rows: pa.Array
) -> pa.Array:
    """A function's values over rows, structs of arguments; NULL where one is, or it has none."""
    parts = rows.flatten()[: len(types)]
    columns = [_in_c(part, of) for part, of in zip(parts, types, strict=True)]
    given = pa.array([True] * len(rows), pa.bool_())
    for part in parts:
        given = pc.and_(given, part.is_valid())
    flags = given.cast(pa.uint8())
    inputs = (
        _address(flags, 1),
        _pointers([_values(column) for column in columns]),
        _pointers([_offsets(column) for column in columns]),
    )
    made, valid = _made(loaded(image), name, type_, len(rows), *inputs)
    return _inside(made, valid, type_)


def _inside(made: pa.Array, there: pa.Array, type_: str) -> pa.Array:
    """In the type that Spark has inside; NULL where there is none."""
    value = pc.if_else(there, made, pa.scalar(None, made.type))
    return value.cast(INSIDE.get(type_, pa.binary() if type_ not in IN_C else value.type))


def _states(
    image: bytes, name: str, size: int, lists: pa.Array, *columns: ctypes.c_void_p
) -> pa.Array:
    count, lengths = len(lists), pc.fill_null(pc.list_value_length(lists), 0)
    ends = pc.cumulative_sum(lengths).cast(pa.int32())
    found = pa.allocate_buffer(count * size)
    loaded(image).call(name, count, _address(ends, 4), *columns, _pointer(found))
    states = pa.Array.from_buffers(pa.binary(size), count, [None, found])
    return pc.if_else(pc.greater(lengths, 0), states, pa.scalar(None, states.type)).cast(
        pa.binary()
    )


def _made(
    library: Loaded, name: str, type_: str, count: int, *inputs: Any
) -> tuple[pa.Array, pa.Array]:
    """The values as C has them, and which of them there are."""
    in_c = c_type(type_)
    is_text = pa.types.is_binary(in_c)
    room = _FIRST_BYTES if is_text else count * _width(in_c)
    while True:
        values, valid = pa.allocate_buffer(room), pa.allocate_buffer(count)
        ends = pa.allocate_buffer(count * 4)
        places = (_pointer(values), room, _pointer(ends), _pointer(valid))
        used = library.call(name, count, *inputs, *places)
        if used < 0:
            raise MemoryError
        if used <= room:
            break
        room = used
    if not is_text:
        made = pa.Array.from_buffers(in_c, count, [None, values])
        return made, _flags(valid, count)
    offsets = pa.py_buffer(bytes(4) + ends.to_pybytes())
    return pa.Array.from_buffers(in_c, count, [None, offsets, values]), _flags(valid, count)


# Between Arrow and C


def c_type(type_: str) -> pa.DataType:
    """How C holds a type of GSQL."""
    return IN_C[type_] if type_ in IN_C else pa.binary(int(type_.removeprefix("fstring")))


def _width(type_: pa.DataType) -> int:
    return int(type_.bit_width // 8)


def _in_c(array: pa.Array, type_: str) -> pa.Array:
    wanted = c_type(type_)
    return array if array.type == wanted else array.cast(wanted)


def _of_size(array: pa.Array, size: int) -> pa.Array:
    """Values of so many bytes; what is NULL, or of another size, is zeros."""
    fits = pc.fill_null(pc.equal(pc.binary_length(array), size), False)
    return pc.if_else(fits, array, pa.scalar(bytes(size), array.type)).cast(pa.binary(size))


def _flags(buffer: pa.Buffer, count: int) -> pa.Array:
    return pa.Array.from_buffers(pa.uint8(), count, [None, buffer]).cast(pa.bool_())


def _pointer(buffer: pa.Buffer) -> ctypes.c_void_p:
    return ctypes.c_void_p(buffer.address)


def _address(array: pa.Array, width: int) -> ctypes.c_void_p:
    """Where the values of one width begin."""
    buffer = array.buffers()[1]
    return ctypes.c_void_p(0 if buffer is None else buffer.address + array.offset * width)


def _values(array: pa.Array) -> ctypes.c_void_p:
    if not pa.types.is_binary(array.type):
        return _address(array, _width(array.type))
    buffer = array.buffers()[2]
    return ctypes.c_void_p(0 if buffer is None else buffer.address)


def _offsets(array: pa.Array) -> ctypes.c_void_p:
    return _address(array, 4) if pa.types.is_binary(array.type) else ctypes.c_void_p(0)


def _pointers(found: Sequence[ctypes.c_void_p]) -> Any:
    return (ctypes.c_void_p * (len(found) + 1))(*found)
