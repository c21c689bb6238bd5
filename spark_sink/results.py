# SPDX-License-Identifier: Apache-2.0
"""From the types inside to those of results (GSQL section 3), and back to the engine's Arrow.

In a DataFrame for people and for Spark's sinks, strings and addresses are text, as the engine
prints them, and timestamps are Spark's, cut to microseconds. No row goes through Python, but for
addresses on Spark Connect. In Arrow a batch has exactly the columns of gigastream.arrow_schema,
nanoseconds included.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

import pyarrow
from pyspark.sql import functions as F

from gigastream.arrow_schema import arrow_schema
from gigastream.gsql.types import Schema, Type
from spark_sink.address_text import address_text
from spark_sink.string_text import string_text

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


def in_result_types(rows: DataFrame, schema: Schema, more: Sequence[Column] = ()) -> DataFrame:
    """Return the rows of an output with addresses as text and timestamps as timestamps.

    `more` columns stand behind them, over those from inside, c0, c1, …
    """
    # by position: names that differ in case only are one to Spark
    numbered = rows.toDF(*(f"c{place}" for place in range(len(schema.columns))))
    columns = [
        result_column(numbered[f"c{place}"], column.type).alias(column.name)
        for place, column in enumerate(schema.columns)
    ]
    return numbered.select(*columns, *more)


def result_column(value: Column, type_: Type) -> Column:
    """Return a value inside as one of a result; NULL stays NULL."""
    return _RESULTS[type_](value) if type_ in _RESULTS else value


def timestamp(nanoseconds: Column) -> Column:
    """Return a bigint of nanoseconds as a timestamp, rounded down to microseconds."""
    # `div` truncates; what is subtracted first could leave 64 bits
    whole = F.call_function("div", nanoseconds, F.lit(1000).cast("bigint"))
    return F.timestamp_micros(whole - (nanoseconds % 1000 < 0).cast("bigint"))


_RESULTS: dict[Type, Callable[[Column], Column]] = {
    Type.STRING: string_text,
    **{type_: partial(address_text, type_=type_) for type_ in (Type.IP, Type.IPV6, Type.INET)},
    Type.TIMESTAMP: timestamp,
}


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
