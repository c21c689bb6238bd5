# SPDX-License-Identifier: Apache-2.0
"""Rows that come as Arrow from another process, as the batches that outputs write."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gigastream.engine.batch import NativeBatch
from gigastream.gsql.types import Column, Schema, Type

if TYPE_CHECKING:
    import pyarrow

_BY_METADATA = {b"ipv4": Type.IP, b"ipv6": Type.IPV6, b"inet": Type.INET}
_BY_NAME = {
    "bool": Type.BOOL,
    "uint16": Type.USHORT,
    "uint32": Type.UINT,
    "int32": Type.INT,
    "uint64": Type.ULLONG,
    "int64": Type.LLONG,
    "double": Type.FLOAT,
    "binary": Type.STRING,
    "timestamp[ns, tz=UTC]": Type.TIMESTAMP,
}
_KIND = b"gs.type"


def schema_of_arrow(schema: pyarrow.Schema) -> Schema:
    """The columns of which gigastream.arrow_schema made these. ValueError for a type of others."""
    return Schema(tuple(_column(field) for field in schema))


def batch_of_arrow(rows: pyarrow.RecordBatch) -> NativeBatch:
    """A batch with a copy of these rows, which prints them as the engine does. EngineError."""
    return NativeBatch.from_arrow(rows.replace_schema_metadata(None), schema_of_arrow(rows.schema))


def _column(field: pyarrow.Field) -> Column:
    kind = (field.metadata or {}).get(_KIND)
    subtype = "mac" if kind == b"mac" else ""
    return Column(field.name, _type(field, kind), nullable=field.nullable, subtype=subtype)


def _type(field: pyarrow.Field, kind: bytes | None) -> Type:
    if kind in _BY_METADATA:
        return _BY_METADATA[kind]
    name = str(field.type)
    if name.startswith("fixed_size_binary"):
        return Type.opaque(field.type.byte_width)
    if name not in _BY_NAME:
        raise ValueError(f"{field.name} is {name}, which no query has")
    return _BY_NAME[name]
