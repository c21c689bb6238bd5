# SPDX-License-Identifier: Apache-2.0
"""Whole numbers of GSQL in Spark's types: what fits, and the bits of an ullong.

Every operand is named once where that can be: a column is a tree, and a tree whose operations name
their operands twice doubles with each level.
"""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

from gigastream.gsql.types import Type
from spark_sink.expressions.values import SPARK_TYPE, literal

_SIGNED = {16: "smallint", 32: "int", 64: "bigint"}
_TWO_TO_64 = 1 << 64


def number(value: int, like: Type = Type.LLONG) -> Column:
    """A literal of the type's representation; 2^64 is one in that of ullong."""
    return literal(value, like)


def long(column: Column) -> Column:
    """A whole number that is no ullong, in 64 bits."""
    return column.cast("bigint")


def is_wide(type_: Type) -> bool:
    """True for what 64 bits with a sign cannot hold."""
    return type_ is Type.ULLONG


def settled(bigint: Column) -> Column:
    """The same number, behind an operation that the optimizer leaves alone.

    Spark takes sums and products of whole numbers apart, try_add's too, and adds up what is
    constant (ReorderAssociativeOperator): `(x + 9) + -9` had a value where `x + 9` has none. It
    does not look behind a shift.
    """
    return F.shiftright(bigint, 0)


def fitted(column: Column, type_: Type, *, decimal: bool) -> Column:
    """A bigint (or `decimal`) as a whole number of the type; NULL where the type cannot hold it.

    Unsigned ranges are moved onto the signed ones of their width, which try_cast checks.
    """
    if is_wide(type_) and not decimal:
        return fitted(column.cast("decimal(20,0)"), type_, decimal=True)
    bits = type_.bits if type_ is not Type.IP else 32
    if not (type_.is_unsigned or type_ is Type.IP):
        return column.try_cast(_SIGNED[bits])
    middle = 1 << (bits - 1)
    like = Type.ULLONG if decimal else Type.LLONG
    moved = F.try_subtract(column, number(middle, like)).try_cast(_SIGNED[bits])
    held = SPARK_TYPE[type_]
    return (moved.cast(held) - number(-middle, type_)).cast(held)


def bits_of(ullong: Column) -> Column:
    """The bigint of the same 64 bits."""
    half = number(1 << 63, Type.ULLONG)
    turned = F.call_function("pmod", ullong + half, number(_TWO_TO_64, Type.ULLONG)) - half
    return turned.try_cast("bigint")


def of_bits(bigint: Column) -> Column:
    """The ullong of the same 64 bits."""
    modulus = number(_TWO_TO_64, Type.ULLONG)
    return F.call_function("pmod", bigint.cast("decimal(20,0)"), modulus).cast("decimal(20,0)")
