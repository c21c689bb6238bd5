# SPDX-License-Identifier: Apache-2.0
"""Aggregates in Python: what a row gives its group, as bytes, and a value of a group's rows.

A row is its arguments: those of a fixed size one after the other, of a string its length, then the
strings. Of one that may be NULL a byte that says whether it is there stands before it. Groups keep
rows in no order; a function is given them in the order of their values, the first argument's first,
so that no answer depends on which came when. Workers of Spark run this, too.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from gigastream.batch_calls import Answer, BatchCall, CallError
from gigastream.late_dataclass import dataclass

LENGTH_BYTES = 4
"""Of a row, before it: little-endian."""
TOO_MANY = b"\xff"
"""What a group has kept that has more rows than it may keep."""
_NO_BYTES = pa.scalar(b"", pa.binary())
_TO_THE_END = (1 << 31) - 1


class TooManyRowsError(Exception):
    """A group has more bytes of rows than the function has said."""


@dataclass(frozen=True, slots=True)
class RowsCall:
    """The arguments of rows as bytes."""

    takes_null: tuple[bool, ...]

    @property
    def result(self) -> pa.DataType:
        """Of its answers."""
        return pa.binary()

    def load(self) -> None:
        """Nothing of a user's is run for it."""

    def answer(self, arguments: Sequence[pa.Array]) -> Answer:
        """NULL of a row with a NULL among what takes none: its group does not keep it."""
        parts, strings, kept = [], [], pa.repeat(True, len(arguments[0]))
        for argument, takes in zip(arguments, self.takes_null, strict=True):
            if takes:
                parts.append(_bytes(argument.is_valid()))
            else:
                kept = pc.and_(kept, argument.is_valid())
            if pa.types.is_binary(argument.type):
                strings.append(argument.fill_null(_NO_BYTES))
                argument = pc.binary_length(strings[-1])
            parts.append(_bytes(argument))
        rows = pc.binary_join_element_wise(*parts, *strings, _NO_BYTES)
        return pc.if_else(kept, rows, None), pa.repeat(True, len(rows))


@dataclass(frozen=True, slots=True)
class GroupCall(BatchCall):
    """A function over all rows of a group: its batch has what each group has kept."""

    types: tuple[pa.DataType, ...]
    """Of the function's arguments."""
    rows_take_null: tuple[bool, ...]
    most_bytes: int

    def tried(self, arguments: Sequence[pa.Array]) -> Answer:
        """A value for each group. CallError."""
        found = [self._of_group(kept.as_py()) for kept in arguments[0]]
        if not found:
            return pa.array([], self.result), pa.array([], pa.bool_())
        values, given = (pa.concat_arrays(parts) for parts in zip(*found, strict=True))
        return values, given

    def _of_group(self, kept: bytes) -> Answer:
        try:
            if kept == TOO_MANY:
                raise TooManyRowsError(f"a group has more than {self.most_bytes:,} bytes of rows")
            made = self.load()(*arguments_of(kept, self.types, self.rows_take_null))
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            self.end_if_told(error)
            return self.no_value(error)
        return self.looked_at(self._as_array(made), 1)

    def _as_array(self, made: object) -> pa.Array:
        """A scalar of Arrow's, or a value of Python's that is one of the type."""
        if isinstance(made, pa.Scalar):
            return pa.repeat(made, 1)
        try:
            return pa.array([made], self.result)
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            given = type(made).__name__
            message = f"{self.place} gives a {given}, and says that it is {self.result}"
            raise CallError(message) from None


def kept_rows(rows: Sequence[bytes], most_bytes: int) -> bytes | None:
    """What a group of these rows has kept, as the engine's groups do (gs_keep_row)."""
    if not rows:
        return None
    if sum(LENGTH_BYTES + len(row) for row in rows) > most_bytes:
        return TOO_MANY
    return b"".join(len(row).to_bytes(LENGTH_BYTES, "little") + row for row in rows)


def arguments_of(
    kept: bytes, types: Sequence[pa.DataType], take_null: Sequence[bool]
) -> list[pa.Array]:
    """The arguments of a group's rows, in the order of their values."""
    rows = pa.array(_split(kept), pa.binary())
    columns, lengths, at = [], {}, 0
    for place, (type_, takes) in enumerate(zip(types, take_null, strict=True)):
        read = pa.uint32() if pa.types.is_binary(type_) else type_
        first, at = at, at + takes + _width(read)
        values = _read(rows, first + takes, read)
        if pa.types.is_binary(type_):
            lengths[place] = values.to_pylist()
        if takes:
            values = pc.if_else(_read(rows, first, pa.bool_()), values, None)
        columns.append(values)
    for place, strings in _strings(pc.binary_slice(rows, at, _TO_THE_END), lengths).items():
        columns[place] = pc.if_else(columns[place].is_valid(), strings, None)
    return _sorted(columns, rows)


def _split(kept: bytes) -> list[bytes]:
    rows, at = [], 0
    while at < len(kept):
        first = at + LENGTH_BYTES
        at = first + int.from_bytes(kept[at:first], "little")
        rows.append(kept[first:at])
    return rows


def _strings(tails: pa.Array, lengths: dict[int, list[int]]) -> dict[int, pa.Array]:
    """The strings of each argument that is one, by its place: they end the rows, one by one."""
    found, begins = {}, [0] * len(tails)
    texts = tails.to_pylist() if lengths else []
    for place, sizes in lengths.items():
        ends = [begin + size for begin, size in zip(begins, sizes, strict=True)]
        parts = [text[b:e] for text, b, e in zip(texts, begins, ends, strict=True)]
        found[place], begins = pa.array(parts, pa.binary()), ends
    return found


def _sorted(columns: list[pa.Array], rows: pa.Array) -> list[pa.Array]:
    """Those that are equal and not the same (0.0 and -0.0) are told apart by their bytes."""
    names = [f"x{at}" for at in range(len(columns) + 1)]
    table = pa.table([*map(_sortable, columns), rows], names)
    order = pc.sort_indices(table, sort_keys=[(name, "ascending") for name in names])
    return [column.take(order) for column in columns]


def _sortable(column: pa.Array) -> pa.Array:
    return column.cast(pa.binary()) if pa.types.is_fixed_size_binary(column.type) else column


def _width(type_: pa.DataType) -> int:
    return 1 if pa.types.is_boolean(type_) else type_.bit_width // 8


def _bytes(values: pa.Array) -> pa.Array:
    """Values of a fixed size as so many bytes; of NULL any."""
    if pa.types.is_boolean(values.type):
        values = values.cast(pa.uint8())
    width = _width(values.type)
    nothing = pa.scalar(bytes(width), pa.binary(width))
    return values.view(pa.binary(width)).fill_null(nothing).cast(pa.binary())


def _read(rows: pa.Array, at: int, type_: pa.DataType) -> pa.Array:
    """What stands in each row from a byte on."""
    if pa.types.is_boolean(type_):
        return _read(rows, at, pa.uint8()).cast(type_)
    width = _width(type_)
    return pc.binary_slice(rows, at, at + width).cast(pa.binary(width)).view(type_)
