# SPDX-License-Identifier: Apache-2.0
"""Functions in Python of every type of GSQL, which give back what they are given."""

from __future__ import annotations

from hashlib import sha256
from typing import Annotated

import pyarrow as pa
import pyarrow.compute as pc

import gigastream


@gigastream.udf
def of_bool(x: pa.BooleanArray) -> pa.BooleanArray:
    return x


@gigastream.udf
def of_ushort(x: pa.UInt16Array) -> pa.UInt16Array:
    return x


@gigastream.udf
def of_uint(x: pa.UInt32Array) -> pa.UInt32Array:
    return x


@gigastream.udf
def of_int(x: pa.Int32Array) -> pa.Int32Array:
    return x


@gigastream.udf
def of_ullong(x: pa.UInt64Array) -> pa.UInt64Array:
    return x


@gigastream.udf
def of_llong(x: pa.Int64Array) -> pa.Int64Array:
    return x


@gigastream.udf
def of_float(x: pa.DoubleArray) -> pa.DoubleArray:
    return x


@gigastream.udf
def of_string(x: pa.BinaryArray) -> pa.BinaryArray:
    return x


@gigastream.udf
def of_ip(x: Annotated[pa.UInt32Array, "IP"]) -> Annotated[pa.UInt32Array, "IP"]:
    return x


@gigastream.udf
def of_ipv6(
    x: Annotated[pa.FixedSizeBinaryArray, "IPV6"],
) -> Annotated[pa.FixedSizeBinaryArray, "IPV6"]:
    return x


@gigastream.udf
def of_inet(x: pa.FixedSizeBinaryArray) -> pa.FixedSizeBinaryArray:
    return x


@gigastream.udf
def of_timestamp(x: pa.TimestampArray) -> pa.TimestampArray:
    return x


@gigastream.udf
def or_seven(x: pa.UInt32Array | None) -> pa.UInt32Array:
    return x.fill_null(7)


@gigastream.udf
def seldom(x: pa.UInt32Array) -> pa.UInt32Array:
    """Raises of every batch that has a multiple of 7."""
    if any(value % 7 == 0 for value in x.to_pylist()):
        raise ValueError("a multiple of 7")
    return x


@gigastream.udf(on_error="end")
def strict(x: pa.UInt32Array) -> pa.UInt32Array:
    raise ValueError("no such length")


@gigastream.udaf
def as_text(
    flag: pa.BooleanArray,
    port: pa.UInt16Array,
    size: pa.UInt32Array | None,
    signed: pa.Int32Array,
    wide: pa.UInt64Array,
    difference: pa.Int64Array,
    part: pa.DoubleArray,
    text: pa.BinaryArray | None,
    host: pa.FixedSizeBinaryArray,
    when: pa.TimestampArray,
    other: pa.BinaryArray,
) -> pa.BinaryScalar:
    """All that a group is given, so that two paths that agree in it agree in all."""
    columns = (flag, port, size, signed, wide, difference, part, text, host, other)
    rows = list(
        zip(
            *(column.to_pylist() for column in columns), when.cast("int64").to_pylist(), strict=True
        )
    )
    return sha256(repr(rows).encode()).hexdigest().encode()


@gigastream.udaf
def middle(x: pa.UInt32Array) -> pa.UInt32Scalar:
    return x[(len(x) - 1) // 2]


@gigastream.udaf(max_bytes=800)
def few(x: pa.UInt32Array) -> pa.DoubleScalar | None:
    """Of at most 100 rows of 8 bytes; of an odd number there is none."""
    return None if len(x) % 2 else pc.mean(x)


@gigastream.udaf
def raises(x: pa.UInt32Array) -> pa.DoubleScalar:
    raise ValueError("no such group")
