# SPDX-License-Identifier: Apache-2.0
"""A query's columns as Arrow sees them: equal to what the engine's batches carry."""

from __future__ import annotations

from typing import Any

from gigastream.gsql.types import Column, Schema, Type

_METADATA = {Type.IP: "ipv4", Type.IPV6: "ipv6", Type.INET: "inet"}


def arrow_schema(schema: Schema) -> Any:
    """Return the pyarrow.Schema of a stream's batches."""
    import pyarrow

    return pyarrow.schema([_field(column) for column in schema.columns])


def _field(column: Column) -> Any:
    import pyarrow

    metadata = _METADATA.get(column.type, "mac" if column.subtype == "mac" else None)
    return pyarrow.field(
        column.name,
        arrow_type(column.type),
        nullable=column.nullable,
        metadata=None if metadata is None else {"gs.type": metadata},
    )


def arrow_type(type_: Type) -> Any:
    """Return the pyarrow.DataType of a column."""
    import pyarrow

    if type_.is_opaque:
        return pyarrow.binary(type_.size)
    return {
        Type.BOOL: pyarrow.bool_(),
        Type.USHORT: pyarrow.uint16(),
        Type.UINT: pyarrow.uint32(),
        Type.INT: pyarrow.int32(),
        Type.ULLONG: pyarrow.uint64(),
        Type.LLONG: pyarrow.int64(),
        Type.FLOAT: pyarrow.float64(),
        Type.STRING: pyarrow.binary(),
        Type.IP: pyarrow.uint32(),
        Type.IPV6: pyarrow.binary(16),
        Type.INET: pyarrow.binary(16),
        Type.TIMESTAMP: pyarrow.timestamp("ns", "UTC"),
    }[type_]
