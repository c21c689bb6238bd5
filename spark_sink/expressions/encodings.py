# SPDX-License-Identifier: Apache-2.0
"""Bytes of a string, and strings that say bytes (csrc/abi/gs_bytes.h)."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

from spark_sink.expressions.strings import LONGEST, as_bytes, as_text, length
from spark_sink.expressions.whole_numbers import bits_of, number

_HEX = r"\A[0-9A-Fa-f]*\z"
_BASE64 = r"\A[A-Za-z0-9+/]*={0,2}\z"
_NOT_PRINTABLE = "[^ -~]"


def byte_at(x: Column, index: Column) -> Column:
    """Byte `index`, from 0; NULL where there is none."""
    byte = F.conv(F.hex(F.substring(x, _within(x, index) + 1, F.lit(1))), 16, 10)
    return byte.try_cast("bigint")


def bit_at(x: Column, index: Column) -> Column:
    """Bit `index`, from 0, the lowest of each byte first."""
    byte = byte_at(x, F.when(index >= 0, F.call_function("div", index, number(8))))
    place = F.pmod(index, number(8)).cast("int")
    return F.call_function("shiftright", byte, place).bitwiseAND(number(1))


def _within(x: Column, index: Column) -> Column:
    return F.when((index >= 0) & (index < length(x)), index).cast("int")


def hex_of_string(x: Column) -> Column:
    """Two digits a byte."""
    return F.when(length(x) <= LONGEST // 2, F.hex(x).cast("binary"))


def hex_of_ullong(x: Column) -> Column:
    """As few digits as the number needs."""
    return F.hex(bits_of(x)).cast("binary")


def unhex(x: Column) -> Column:
    """The bytes that digits say; NULL for what says none."""
    text = as_text(x)
    return F.when(text.rlike(_HEX), F.unhex(text))


def to_base64(x: Column) -> Column:
    """On one line, whatever Spark is told of lines."""
    text = F.translate(F.base64(x), "\r\n", "")
    return F.when(length(x) <= LONGEST // 4 * 3, as_bytes(text))


def from_base64(x: Column) -> Column:
    """The bytes that padded digits say; NULL for what says none."""
    text = as_text(x)
    return F.when((length(x) % 4 == 0) & text.rlike(_BASE64), F.unbase64(text))


def printable(x: Column) -> Column:
    """A dot for each byte that is no sign of ASCII."""
    return as_bytes(F.regexp_replace(as_text(x), _NOT_PRINTABLE, "."))
