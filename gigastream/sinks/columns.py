# SPDX-License-Identifier: Apache-2.0
r"""The engine's columns as tables have them: addresses and strings as text, no type that they lack.

What every sink does alike is here, column by column, in Arrow. Text is text of people: UTF-8 where
a string is, `\x…` where it is not, and for a zero byte, which PostgreSQL's text cannot hold.
"""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import IPv4Address, IPv6Address
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from gigastream.late_dataclass import dataclass

_TYPE = b"gs.type"
_ULLONG = pa.decimal128(20, 0)
_WIDER = {pa.uint16(): pa.int32(), pa.uint32(): pa.int64(), pa.uint64(): _ULLONG}
_MICROSECONDS = pa.timestamp("us", "UTC")


@dataclass(frozen=True, slots=True)
class Abilities:
    """What a sink's columns can hold."""

    unsigned: bool = False
    """Unsigned integers; else the next wider one, and decimal(20,0)."""
    nanoseconds: bool = False
    """Timestamps to the nanosecond; else they are cut to microseconds."""


def address_kind(field: pa.Field) -> str | None:
    """Return `ipv4`, `ipv6`, `inet` or `mac` where a column has such."""
    kind = (field.metadata or {}).get(_TYPE)
    return None if kind is None else kind.decode()


def table_schema(schema: pa.Schema, abilities: Abilities) -> pa.Schema:
    """Return the columns of a table for the engine's; all may be NULL."""
    return pa.schema([pa.field(field.name, _type(field, abilities)) for field in schema])


def table_rows(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return rows of the engine as rows of a table; `schema` is its table_schema."""
    columns = [
        _column(values, field, wanted.type)
        for values, field, wanted in zip(rows.columns, rows.schema, schema, strict=True)
    ]
    return pa.Table.from_arrays(columns, schema=schema)


def _type(field: pa.Field, abilities: Abilities) -> pa.DataType:
    if address_kind(field) is not None or pa.types.is_binary(field.type):
        return pa.string()
    if pa.types.is_fixed_size_binary(field.type):
        return pa.binary()
    if pa.types.is_timestamp(field.type):
        return field.type if abilities.nanoseconds else _MICROSECONDS
    return field.type if abilities.unsigned else _WIDER.get(field.type, field.type)


def _column(values: pa.ChunkedArray, field: pa.Field, wanted: pa.DataType) -> pa.ChunkedArray:
    kind = address_kind(field)
    if kind is not None:
        return _by_value(values, _TEXTS[kind])
    if pa.types.is_string(wanted):
        return _text(values)
    if wanted == _MICROSECONDS:
        return pc.floor_temporal(values, unit="microsecond").cast(wanted)
    return values.cast(wanted)


def _by_value(values: pa.ChunkedArray, write: Callable[[Any], str]) -> pa.ChunkedArray:
    """Return the texts of values, each written once: the same ones come again and again."""
    encoded = values.combine_chunks().dictionary_encode()
    texts = pa.array([write(value) for value in encoded.dictionary.to_pylist()], pa.string())
    return pa.chunked_array([texts.take(encoded.indices)])


def _text(values: pa.ChunkedArray) -> pa.ChunkedArray:
    try:
        text = values.cast(pa.string())
    except pa.ArrowInvalid:
        text = _by_value(values, lambda value: value.decode(errors="backslashreplace"))
    return pc.replace_substring(text, "\0", "\\x00")


def _ipv4(number: int) -> str:
    return str(IPv4Address(number))


def _ipv6(packed: bytes) -> str:
    """As the engine prints it: an address that holds one of IPv4 by RFC 5952, section 5."""
    held = IPv6Address(packed).ipv4_mapped
    return str(IPv6Address(packed)) if held is None else f"::ffff:{held}"


def _inet(packed: bytes) -> str:
    held = IPv6Address(packed).ipv4_mapped
    return str(IPv6Address(packed) if held is None else held)


def _mac(number: int) -> str:
    return (number & (1 << 48) - 1).to_bytes(6, "big").hex(":")


_TEXTS: dict[str, Callable[[Any], str]] = {
    "ipv4": _ipv4,
    "ipv6": _ipv6,
    "inet": _inet,
    "mac": _mac,
}
