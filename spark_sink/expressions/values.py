# SPDX-License-Identifier: Apache-2.0
"""What an expression is in Spark: a column, and the condition under which it has a value.

Spark knows one absence, NULL; GSQL knows two: NULL, and no value, which drops the row (section 3).
An expression that cannot be NULL needs no second column: its column is NULL exactly where it has no
value (`implied`), and stays so through every operation, since Spark's are NULL over NULL.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import reduce

from pyspark.sql import Column
from pyspark.sql import functions as F

from gigastream.gsql.expressions import Constant, Expression
from gigastream.gsql.types import Type
from spark_sink.expressions.binding import Compute, computed


class _SparkTypes(dict[Type, str]):
    """An opaque type is not listed."""

    def __missing__(self, type_: Type) -> str:
        assert type_.is_opaque
        return "binary"


SPARK_TYPE = _SparkTypes(
    {
        Type.BOOL: "boolean",
        Type.USHORT: "int",
        Type.UINT: "bigint",
        Type.INT: "int",
        Type.ULLONG: "decimal(20,0)",
        Type.LLONG: "bigint",
        Type.FLOAT: "double",
        Type.STRING: "binary",
        Type.IP: "bigint",
        Type.IPV6: "binary",
        Type.INET: "binary",
        Type.TIMESTAMP: "bigint",
    }
)
"""The types inside; a timestamp counts nanoseconds."""


@dataclass(frozen=True, slots=True)
class Value:
    """A column, and a condition that is never NULL: false where the row has no value."""

    column: Column
    valid: Column | None = None
    """None: there always is a value."""
    implied: bool = False
    """`valid` only says that the column is not NULL."""


def literal(value: object, type_: Type) -> Column:
    """A constant in the type from inside; None is NULL."""
    if value is None or type_ is Type.BOOL:
        return F.lit(value).cast(SPARK_TYPE[type_])
    return _LITERALS.get(SPARK_TYPE[type_], F.lit)(value)


def _decimal(value: object) -> Column:
    return F.lit(Decimal(int(value))).cast("decimal(20,0)")  # type: ignore[call-overload]


_LITERALS: dict[str, Callable[[object], Column]] = {
    "int": lambda value: F.lit(value).cast("int"),
    "bigint": lambda value: F.lit(value).cast("bigint"),
    "decimal(20,0)": _decimal,
    "double": lambda value: F.lit(float(value)),  # type: ignore[arg-type]
    "binary": lambda value: F.lit(bytearray(value)),  # type: ignore[call-overload]
}


def constant(expression: Constant) -> Value:
    """A literal, parameter or define."""
    return Value(literal(expression.value, expression.type))


def strict(
    expression: Expression,
    operands: Sequence[Value],
    compute: Compute,
    *,
    partial: bool,
) -> Value:
    """What is NULL where an operand is, and has no value where one has none.

    A `partial` one may have none of its own: `compute` gives NULL there.
    """
    result = computed(compute, [operand.column for operand in operands])
    if not expression.nullable and all(o.valid is None or o.implied for o in operands):
        fails = partial or any(o.implied for o in operands)
        return has_value(result) if fails else Value(result)
    conditions = [operand.valid for operand in operands if operand.valid is not None]
    if partial:
        nulls = [operand.column.isNull() for operand in operands]
        conditions.append(reduce(Column.__or__, nulls, result.isNotNull()))
    return Value(result, all_of(conditions))


def has_value(column: Column) -> Value:
    """A value that is there unless the column is NULL."""
    return Value(column, column.isNotNull(), implied=True)


def all_of(conditions: Sequence[Column]) -> Column | None:
    """All conditions; None if there are none."""
    return reduce(Column.__and__, conditions) if conditions else None
