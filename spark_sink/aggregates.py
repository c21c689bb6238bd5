# SPDX-License-Identifier: Apache-2.0
"""Accumulators and finals of gigastream/plan as Spark's aggregate functions.

The super-aggregate of a partial row (a count becomes a sum of counts) and the aggregate of a plain
row are two lines of one table. Sums hold any number of 64-bit values: one that leaves its type is
no value, as in the engine, and never a wrong number. They are made of two halves, sums of 32 bits
in a bigint each, since a decimal in every row is slow.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from gigastream.gsql.types import Type
from gigastream.plan.accumulators import Accumulator, Final, RowsAccumulator
from spark_sink import moments, value_lists
from spark_sink.expressions import Value
from spark_sink.expressions.values import SPARK_TYPE
from spark_sink.mirrored import mirrored
from spark_sink.python_functions import keeping

if TYPE_CHECKING:
    from pyspark.sql import Column

KINDS_OF_BITS = ("count", "sum_unsigned")
"""Those whose partial column is an ullong, which is merged as its bits."""
Columns = Sequence["Column"]
Build = Callable[[Columns, Accumulator], "Column"]
FinalOf = Callable[[Final, Sequence[Accumulator], Columns], Value]
_BIAS = "18446744073709551616"


@dataclass(frozen=True, slots=True)
class SparkAccumulator:
    """An accumulator: over the columns of partial rows, and over an argument and its position."""

    merge: Build
    plain: Build


def accumulator_column(accumulator: Accumulator, columns: Columns, *, partial: bool) -> Column:
    """The aggregate function over the columns of a partial row, or over argument and position."""
    if accumulator.distinct:
        return _OF_DISTINCT[accumulator.kind](F.collect_set(columns[0]))
    kind = KINDS[accumulator.kind]
    return (kind.merge if partial else kind.plain)(columns, accumulator)


def _sum(x: Columns, accumulator: Accumulator) -> Column:
    """Of plain rows: an ullong is a decimal there, anything else fits a bigint."""
    if accumulator.type is Type.ULLONG:
        return F.sum(x[0])
    value = x[0].cast("bigint")
    return _of_halves(F.shiftright(value, 32), value)


def _sum_of_bits(x: Columns, _: Accumulator) -> Column:
    """Of the 64 bits of an ullong."""
    return _of_halves(F.shiftrightunsigned(x[0], 32), x[0])


def _of_halves(high: Column, value: Column) -> Column:
    """The sum of the high halves, each worth 2^32, and that of the low ones: neither overflows."""
    low = value.bitwiseAND(F.lit(0xFFFFFFFF))
    total = F.sum(high).cast("decimal(20,0)") * F.lit(1 << 32).cast("decimal(10,0)")
    return (total + F.sum(low).cast("decimal(20,0)")).cast("decimal(38,0)")


def _count(x: Columns, _: Accumulator) -> Column:
    return F.count(x[0] if x else F.lit(1)).cast("decimal(20,0)")


def _float_sum(x: Columns, _: Accumulator) -> Column:
    return F.sum(x[0])


def _min(x: Columns, _: Accumulator) -> Column:
    return F.min(x[0])


def _max(x: Columns, _: Accumulator) -> Column:
    return F.max(x[0])


def _bits(name: str) -> Build:
    """Of 64 bits, whatever the type is; an ullong goes through the long of the same bits."""

    def build(x: Columns, accumulator: Accumulator) -> Column:
        if accumulator.type is Type.BOOL:
            return F.call_function(name, x[0].cast("int")).cast("boolean")
        if accumulator.type is not Type.ULLONG:
            return F.call_function(name, x[0])
        bias = F.lit(_BIAS).cast("decimal(20,0)")
        high = F.lit(str(1 << 63)).cast("decimal(20,0)")
        bits = F.when(x[0] >= high, x[0] - bias).otherwise(x[0]).cast("bigint")
        found = F.call_function(name, bits).cast("decimal(20,0)")
        return F.when(found < 0, found + bias).otherwise(found).cast("decimal(20,0)")

    return build


def _positioned(name: str) -> Build:
    """The value of the row whose position is the least, or the greatest; then that of the value."""

    def build(x: Columns, _: Accumulator) -> Column:
        value, *position = x
        parts = [part.alias(f"p{index}") for index, part in enumerate(position)]
        row = F.struct(*parts, value.alias("value"))
        return F.call_function(name, F.when(value.isNotNull(), row)).getField("value")

    return build


def _at_extreme(is_greatest: bool) -> Build:
    """The value of the row in which another is the least, or the greatest; then the first row's."""

    def build(x: Columns, accumulator: Accumulator) -> Column:
        value, by, *position = x
        assert accumulator.by is not None
        order = mirrored(by, accumulator.by.type) if is_greatest else by
        parts = [part.alias(f"p{index}") for index, part in enumerate((order, *position))]
        row = F.struct(*parts, value.alias("value"))
        return F.min(F.when(value.isNotNull(), row)).getField("value")

    return build


def _float_moments(x: Columns, _: Accumulator) -> Column:
    """Spark's own variance: partial rows have none of floats."""
    return F.var_samp(x[0])


def _rows(x: Columns, accumulator: Accumulator) -> Column:
    """What a group keeps for an aggregate in Python, of a list of its rows."""
    assert isinstance(accumulator, RowsAccumulator)
    found: Column = F.arrow_udf(keeping(accumulator.most_bytes), "binary")(F.collect_list(x[0]))
    return found


def _mode(x: Columns, accumulator: Accumulator) -> Column:
    """Of values that are as frequent the least.

    Spark tells bytes apart by where they lie: it counts their digits, which are in the same order.
    """
    if SPARK_TYPE[accumulator.type] == "binary":
        return F.unhex(F.mode(F.hex(x[0]), True))
    is_float = accumulator.type is Type.FLOAT
    return F.mode(x[0] + F.lit(0.0) if is_float else x[0], True)  # 0 and -0 are one


def _values(x: Columns, accumulator: Accumulator) -> Column:
    """Equal floats have equal bits here, too."""
    value = x[0] + F.lit(0.0) if accumulator.type is Type.FLOAT else x[0]
    return value_lists.collected([value, *x[1:]])


def _of_partials(x: Columns, _: Accumulator) -> Column:
    raise AssertionError("an accumulator of plain rows alone")


KINDS: dict[str, SparkAccumulator] = {
    "mode": SparkAccumulator(_of_partials, _mode),
    "histogram": SparkAccumulator(_of_partials, _values),
    "list": SparkAccumulator(_of_partials, _values),
    "runs": SparkAccumulator(_of_partials, _values),
    "count": SparkAccumulator(_sum_of_bits, _count),
    "sum_unsigned": SparkAccumulator(_sum_of_bits, _sum),
    "sum_signed": SparkAccumulator(_sum, _sum),
    "sum_float": SparkAccumulator(_float_sum, _float_sum),
    "min": SparkAccumulator(_min, _min),
    "max": SparkAccumulator(_max, _max),
    "and": SparkAccumulator(_bits("bit_and"), _bits("bit_and")),
    "or": SparkAccumulator(_bits("bit_or"), _bits("bit_or")),
    "xor": SparkAccumulator(_bits("bit_xor"), _bits("bit_xor")),
    "first": SparkAccumulator(_positioned("min"), _positioned("min")),
    "last": SparkAccumulator(_positioned("max"), _positioned("max")),
    "arg_min": SparkAccumulator(_at_extreme(False), _at_extreme(False)),
    "arg_max": SparkAccumulator(_at_extreme(True), _at_extreme(True)),
    "rows": SparkAccumulator(_of_partials, _rows),
    "moments_unsigned": SparkAccumulator(moments.of_partial_rows, moments.of_rows),
    "moments_signed": SparkAccumulator(moments.of_partial_rows, moments.of_rows),
    "moments_float": SparkAccumulator(_float_moments, _float_moments),
}


def _size(values: Column) -> Column:
    return F.size(values).cast("decimal(20,0)")


def _total(type_: str) -> Callable[[Column], Column]:
    """The sum of a list's values, each of this type; NULL of none."""

    def build(values: Column) -> Column:
        added = F.aggregate(
            values, F.lit(0).cast(type_), lambda s, x: (s + x.cast(type_)).cast(type_)
        )
        return F.when(F.size(values) > 0, added)

    return build


_OF_DISTINCT: dict[str, Callable[[Column], Column]] = {
    "count": _size,
    "sum_unsigned": _total("decimal(38,0)"),
    "sum_signed": _total("decimal(38,0)"),
    "sum_float": _total("double"),
}
"""Over the set of an argument's values: Spark's own DISTINCT is none of a stream."""


# Finals


def final_value(final: Final, accumulators: Sequence[Accumulator], columns: Columns) -> Value:
    """The value of an aggregate when its group leaves."""
    return _FINALS[final.kind](final, accumulators, columns)


def _value(final: Final, accumulators: Sequence[Accumulator], columns: Columns) -> Value:
    index = final.accumulators[0]
    column, kind = columns[index], accumulators[index].kind
    if kind == "sum_unsigned":
        return _fitting(column, 0, (1 << 64) - 1, "decimal(20,0)")
    if kind == "sum_signed":
        return _fitting(column, -(1 << 63), (1 << 63) - 1, "bigint")
    if kind == "sum_float":
        return _finite(column)
    if kind == "count":  # of no partial rows it is NULL
        return Value(F.coalesce(column.cast("decimal(20,0)"), F.lit(0).cast("decimal(20,0)")), None)
    return Value(column, None)


def _finite(column: Column) -> Value:
    """A float that is not finite is no value; NaN is above all numbers for Spark."""
    is_finite = F.coalesce(F.abs(column) < F.lit(float("inf")), F.lit(True))
    return Value(F.when(is_finite, column), is_finite)


def _fitting(column: Column, least: int, greatest: int, type_: str) -> Value:
    """A sum that leaves its 64 bits is no value."""
    limits = [F.lit(str(limit)).cast("decimal(20,0)") for limit in (least, greatest)]
    fits = F.coalesce(column.between(*limits), F.lit(True))
    return Value(F.when(fits, column).cast(type_), fits)


def _average(final: Final, accumulators: Sequence[Accumulator], columns: Columns) -> Value:
    total, count = (columns[index] for index in final.accumulators)
    return _finite(F.when(count > 0, total.cast("double") / count.cast("double")))


def _variance(final: Final, accumulators: Sequence[Accumulator], columns: Columns) -> Value:
    index = final.accumulators[0]
    column, accumulator = columns[index], accumulators[index]
    if accumulator.kind == "moments_float":
        return _finite(column)
    return _finite(moments.variance(column, accumulator.type))


def _deviation(final: Final, accumulators: Sequence[Accumulator], columns: Columns) -> Value:
    variance = _variance(final, accumulators, columns)
    return Value(F.sqrt(variance.column), variance.valid)


def _list(opening: bytes, closing: bytes) -> FinalOf:
    """A list as text, in brackets or without."""

    def build(final: Final, accumulators: Sequence[Accumulator], columns: Columns) -> Value:
        index = final.accumulators[0]
        separator = accumulators[index].separator
        return Value(value_lists.list_text(columns[index], separator, opening, closing), None)

    return build


def _counts(final: Final, accumulators: Sequence[Accumulator], columns: Columns) -> Value:
    return Value(value_lists.counts_text(columns[final.accumulators[0]]), None)


def _runs(final: Final, accumulators: Sequence[Accumulator], columns: Columns) -> Value:
    return Value(value_lists.runs_count(columns[final.accumulators[0]]), None)


_FINALS: dict[str, FinalOf] = {
    "joined": _list(b"", b""),
    "array": _list(b"[", b"]"),
    "counts": _counts,
    "runs": _runs,
    "value": _value,
    "average": _average,
    "variance": _variance,
    "deviation": _deviation,
}
