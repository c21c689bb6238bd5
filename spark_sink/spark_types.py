# SPDX-License-Identifier: Apache-2.0
"""A stream's columns as Spark holds them "inside", and the way there from Arrow (GSQL section 3).

Spark has no unsigned integers, its timestamps count microseconds, and people want to read strings
and addresses. Four options keep what is inside instead: `timestamps=nanoseconds` gives the bigint
that was captured; `unsigned=bits` one of the 64 bits of an ullong, negative from 2^63 on, since a
decimal in every row costs a third of the whole way into an aggregation (`unsigned` makes the
decimal of it); `strings=bytes` and `addresses=bytes` give binary, and of an IPv4 address a bigint.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import types as spark_types

from gigastream.opaque import opaque_size
from spark_sink.arrow_text import as_text

if TYPE_CHECKING:
    from pyspark.sql import Column

HEARTBEAT = "_hb"
"""The hidden column on which the query's only watermark stands; null in every row of data. It is
the first, and goes by its place: a stream with a column of that name gives it another."""

_SPARK_TYPES: dict[str, spark_types.DataType] = {
    "bool": spark_types.BooleanType(),
    "ushort": spark_types.IntegerType(),
    "uint": spark_types.LongType(),
    "int": spark_types.IntegerType(),
    "ullong": spark_types.DecimalType(20, 0),
    "llong": spark_types.LongType(),
    "float": spark_types.DoubleType(),
    "string": spark_types.StringType(),
    "IP": spark_types.StringType(),
    "IPV6": spark_types.StringType(),
    "INET": spark_types.StringType(),
    "timestamp": spark_types.TimestampType(),
}
_INSIDE: dict[str, spark_types.DataType] = {
    "ullong": spark_types.LongType(),
    "string": spark_types.BinaryType(),
    "IP": spark_types.LongType(),
    "IPV6": spark_types.BinaryType(),
    "INET": spark_types.BinaryType(),
    "timestamp": spark_types.LongType(),
}

_ARROW_TYPES: dict[str, pa.DataType] = {
    "boolean": pa.bool_(),
    "integer": pa.int32(),
    "long": pa.int64(),
    "decimal(20,0)": pa.decimal128(20, 0),
    "double": pa.float64(),
    "string": pa.string(),
    "binary": pa.binary(),
    "timestamp": pa.timestamp("us", "UTC"),
}


def spark_schema(columns: Iterable[Mapping[str, Any]], inside: frozenset[str] = frozenset()) -> Any:
    """The source's StructType: the heartbeat, then `columns` (of stream.json), all nullable.

    `inside`: the types of GSQL whose values stay as they are inside.
    """
    types = _SPARK_TYPES | {name: _INSIDE[name] for name in inside}
    fields = [
        spark_types.StructField(column["name"], _spark_type(column["type"], types))
        for column in columns
    ]
    name = _free_name(field.name for field in fields)
    heartbeats = spark_types.StructField(name, spark_types.TimestampType())
    return spark_types.StructType([heartbeats, *fields])


def _free_name(names: Iterable[str]) -> str:
    """The heartbeat's beside columns; to Spark names that differ in case only are one."""
    taken = {name.lower() for name in names}
    name = HEARTBEAT
    while name in taken:
        name += "_"
    return name


def _spark_type(name: str, types: Mapping[str, spark_types.DataType]) -> spark_types.DataType:
    """Of fstringN the size has been looked at (stream_columns)."""
    return spark_types.BinaryType() if opaque_size(name) is not None else types[name]


def unsigned(bits: Column) -> Column:
    """The decimal(20,0) of an ullong that came as its bits; NULL stays NULL."""
    from pyspark.sql import functions as F

    value = bits.cast("decimal(20,0)")
    beyond = (value + F.lit(Decimal(1 << 64))).cast("decimal(20,0)")
    return F.when(bits < 0, beyond).otherwise(value)


def arrow_schema(schema: Any) -> pa.Schema:
    """What Spark wants to receive for its schema: names, types, units and nullability alike."""
    return pa.schema(
        [
            pa.field(field.name, _ARROW_TYPES[field.dataType.jsonValue()], nullable=True)
            for field in schema.fields
        ]
    )


def to_spark(batch: pa.RecordBatch, schema: pa.Schema, types: Mapping[str, str]) -> pa.RecordBatch:
    """A segment's rows in the types that Spark takes, with no heartbeat; columns as in `schema`.

    `types` are those of GSQL, by name: an INET and an IPV6 are the same bytes, and not as text.
    """
    heartbeats = pa.nulls(batch.num_rows, schema.field(0).type)
    columns = [_column(batch, field, types) for field in list(schema)[1:]]
    return pa.RecordBatch.from_arrays([heartbeats, *columns], schema=schema)


def heartbeat(heartbeat_ms: int, schema: pa.Schema) -> pa.RecordBatch:
    """The one row that moves the watermark: null in every column but the first."""
    value = pa.array([heartbeat_ms * 1000], pa.int64()).cast(schema.field(0).type)
    nulls = [pa.nulls(1, field.type) for field in list(schema)[1:]]
    return pa.RecordBatch.from_arrays([value, *nulls], schema=schema)


def _column(batch: pa.RecordBatch, field: pa.Field, types: Mapping[str, str]) -> pa.Array:
    values = batch.column(field.name)
    if pa.types.is_string(field.type):
        return as_text(values, types[field.name])
    return _cast(values, field.type)


def _cast(values: pa.Array, wanted: pa.DataType) -> pa.Array:
    if values.type == wanted:
        return values
    if pa.types.is_uint64(values.type) and pa.types.is_int64(wanted):
        return values.view(wanted)
    if not pa.types.is_timestamp(values.type):
        return values.cast(wanted)
    nanoseconds = values.view(pa.int64())
    return nanoseconds if pa.types.is_int64(wanted) else _microseconds(nanoseconds).view(wanted)


def _microseconds(nanoseconds: pa.Array) -> pa.Array:
    """Rounded down, also before 1970, where division rounds up; no value is out of reach."""
    towards_zero = pc.divide(nanoseconds, 1000)
    least = pc.min(nanoseconds).as_py()
    if least is None or least >= 0:
        return towards_zero
    down = pc.bit_wise_not(pc.divide(pc.bit_wise_not(nanoseconds), 1000))
    return pc.if_else(pc.less(nanoseconds, 0), down, towards_zero)
