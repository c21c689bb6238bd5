# SPDX-License-Identifier: Apache-2.0
"""From the types inside to those of results (GSQL section 3), and back to the engine's Arrow.

In a DataFrame for people and for Spark's sinks, addresses are text, as the engine prints them, and
timestamps are Spark's, cut to microseconds. It is all Spark's own expressions: no row goes through
Python. In Arrow a batch has exactly the columns of gigastream.arrow_schema, nanoseconds included.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import TYPE_CHECKING

import pyarrow
from pyspark.sql import functions as F

from gigastream.arrow_schema import arrow_schema
from gigastream.gsql.types import Schema, Type

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_MAPPED_PREFIX = bytes(10) + b"\xff\xff"
"""Before the four bytes of an IPv4 address in sixteen (RFC 4291, section 2.5.5.2)."""
_GROUPS = 8


def in_result_types(rows: DataFrame, schema: Schema) -> DataFrame:
    """Return the rows of an output with addresses as text and timestamps as timestamps."""
    # by position: names that differ in case only are one to Spark
    numbered = rows.toDF(*(f"c{place}" for place in range(len(schema.columns))))
    columns = [
        result_column(numbered[f"c{place}"], column.type).alias(column.name)
        for place, column in enumerate(schema.columns)
    ]
    return numbered.select(*columns)


def result_column(value: Column, type_: Type) -> Column:
    """Return a value inside as one of a result; NULL stays NULL."""
    if type_ is Type.IP:
        return ip_text(value)
    if type_ is Type.IPV6:
        return ipv6_text(value)
    if type_ is Type.INET:
        return inet_text(value)
    return timestamp(value) if type_ is Type.TIMESTAMP else value


def timestamp(nanoseconds: Column) -> Column:
    """Return a bigint of nanoseconds as a timestamp, rounded down to microseconds."""
    # `div` truncates; what is subtracted first could leave 64 bits
    whole = F.call_function("div", nanoseconds, F.lit(1000).cast("bigint"))
    return F.timestamp_micros(whole - (nanoseconds % 1000 < 0).cast("bigint"))


def ip_text(address: Column) -> Column:
    """Return an IPv4 address, a bigint, as text."""
    parts = [F.shiftright(address, shift).bitwiseAND(255).cast("string") for shift in _SHIFTS]
    return _joined(parts, ".")


_SHIFTS = (24, 16, 8, 0)


def inet_text(address: Column) -> Column:
    """Return sixteen bytes as the text of an address of either family."""
    return F.when(_holds_ip(address), _held_ip_text(address)).otherwise(_hex_text(address))


def ipv6_text(address: Column) -> Column:
    """Return an IPv6 address as text: RFC 5952, one that holds an IPv4 address by its section 5."""
    held = F.concat(F.lit("::ffff:"), _held_ip_text(address))
    return F.when(_holds_ip(address), held).otherwise(_hex_text(address))


def _holds_ip(address: Column) -> Column:
    return F.substring(address, 1, len(_MAPPED_PREFIX)) == F.lit(_MAPPED_PREFIX)


def _held_ip_text(address: Column) -> Column:
    number = F.conv(F.hex(F.substring(address, 13, 4)), 16, 10).cast("bigint")
    return ip_text(number)


def _hex_text(address: Column) -> Column:
    """Groups without leading zeros, the longest run of two or more zeros, the first of equals, cut.

    With a colon on both sides of every group such a run is found as text.
    """
    digits = F.lower(F.hex(address))
    groups = [
        F.regexp_replace(F.substring(digits, 1 + 4 * group, 4), "^0{1,3}", "")
        for group in range(_GROUPS)
    ]
    whole = F.concat(F.lit(":"), _joined(groups, ":"), F.lit(":"))
    return F.regexp_replace(_shortened(whole), "^:(?!:)|(?<!:):$", "")


def _shortened(whole: Column) -> Column:
    found = whole
    for length in range(2, _GROUPS + 1):
        run = ":0" * length + ":"
        at = F.instr(whole, run)
        cut = F.overlay(whole, F.lit("::"), at, F.lit(len(run)))
        found = F.when(at > 0, cut).otherwise(found)
    return found


def _joined(parts: Sequence[Column], separator: str) -> Column:
    """Unlike concat_ws, NULL where a part is."""
    return reduce(lambda left, right: F.concat(left, F.lit(separator), right), parts)


# Arrow


def to_record_batches(table: pyarrow.Table, schema: Schema) -> list[pyarrow.RecordBatch]:
    """Return rows from inside (DataFrame.toArrow) as the batches that the engine would give."""
    wanted = arrow_schema(schema)
    return [
        pyarrow.RecordBatch.from_arrays(
            [
                _cast(values, field.type)
                for values, field in zip(batch.columns, wanted, strict=True)
            ],
            schema=wanted,
        )
        for batch in table.to_batches()
    ]


def _cast(values: pyarrow.Array, wanted: pyarrow.DataType) -> pyarrow.Array:
    """Arrow's own cast, which raises where a value does not fit."""
    if pyarrow.types.is_timestamp(wanted):
        return values.view(wanted)
    return values.cast(wanted)
