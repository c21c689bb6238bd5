# SPDX-License-Identifier: Apache-2.0
"""The functions of strings, which are bytes. Case is ASCII's.

What needs Spark's text goes through ISO 8859-1, in which every byte is one character.
"""

from __future__ import annotations

import string

from pyspark.sql import Column
from pyspark.sql import functions as F

from gigastream.gsql.types import Type
from spark_sink.expressions.values import literal
from spark_sink.expressions.whole_numbers import bits_of, number, of_bits

LONGEST = 1 << 16
"""No string is longer (GSQL section 3)."""
_BYTES = "ISO-8859-1"
_OCTET = "(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
_ADDRESS = rf"\A{_OCTET}(?:\.{_OCTET}){{3}}\z"


def length(x: Column) -> Column:
    """In bytes."""
    return F.octet_length(x).cast("bigint")


def exists(x: Column, part: Column) -> Column:
    """Whether `part` stands anywhere in x."""
    return F.contains(x, part)


def starts(x: Column, part: Column) -> Column:
    """Whether x begins with `part`."""
    return F.startswith(x, part)


def has_at(offset: Column, part: Column, x: Column) -> Column:
    """Whether `part` stands at an offset of x."""
    fits = offset + length(part) <= length(x)
    return fits & (_part(x, _count(offset) + 1, length(part)) == part)


def has_byte_at(offset: Column, byte: Column, x: Column) -> Column:
    """Whether a byte stands at an offset; a number that no byte has stands nowhere."""
    found = F.hex(_part(x, _count(offset) + 1, F.lit(1)))
    wanted = F.lpad(F.hex(byte), 8, "0")
    return F.concat(F.lit("000000"), found) == wanted


def truncated(x: Column, count: Column) -> Column:
    """The first bytes, or all."""
    return _part(x, F.lit(1), _count(count))


def suffix(x: Column, count: Column) -> Column:
    """The last bytes, or all."""
    last = _count(count)
    return _part(x, F.negate(last), last)


def list_entry(x: Column, separator: Column, index: Column) -> Column:
    """Entry `index`, from 0; empty where there is none, or no separator."""
    found = F.split_part(as_text(x), as_text(separator), _count(index) + 1)
    nothing = literal(b"", Type.STRING)
    return F.when(length(separator) > 0, as_bytes(found)).when(length(x) >= 0, nothing)


def lower(x: Column) -> Column:
    """ASCII's letters."""
    return _translated(x, string.ascii_uppercase, string.ascii_lowercase)


def upper(x: Column) -> Column:
    """ASCII's letters."""
    return _translated(x, string.ascii_lowercase, string.ascii_uppercase)


def hex_of_string(x: Column) -> Column:
    """Two digits a byte; NULL where that is longer than a string can be."""
    return F.when(length(x) <= LONGEST // 2, F.lower(F.hex(x)).cast("binary"))


def hex_of_ullong(x: Column) -> Column:
    """As few digits as the number needs."""
    return F.lower(F.hex(bits_of(x))).cast("binary")


def text_of_number(x: Column) -> Column:
    """A whole number in decimal."""
    return x.cast("string").cast("binary")


def address(x: Column) -> Column:
    """The IP that the whole string is in dotted form; NULL for anything else."""
    text = as_text(x)
    octets = [F.split_part(text, F.lit("."), F.lit(at)).try_cast("bigint") for at in range(1, 5)]
    ip = number(0)
    for octet in octets:
        ip = F.shiftleft(ip, 8).bitwiseOR(octet)
    return F.when(text.rlike(_ADDRESS), ip)


def hash_(x: Column) -> Column:
    """XXH64 with Spark's seed; Spark gives the seed itself for NULL."""
    return F.when(x.isNotNull(), of_bits(F.xxhash64(x)))


def _translated(x: Column, letters: str, others: str) -> Column:
    return F.when(length(x) <= LONGEST, as_bytes(F.translate(as_text(x), letters, others)))


def _part(x: Column, first: Column, count: Column) -> Column:
    return F.substring(x, first.cast("int"), count.cast("int"))


def _count(number_: Column) -> Column:
    """A uint as an int that no string is longer than; NULL stays NULL."""
    limit = number(LONGEST + 1)
    return F.when(number_ > limit, limit).otherwise(number_).try_cast("int")


def as_text(x: Column) -> Column:
    """Bytes as text, each a character."""
    return F.decode(x, _BYTES)


def as_bytes(text: Column) -> Column:
    """The inverse of as_text."""
    return F.encode(text, _BYTES)
