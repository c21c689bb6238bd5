# SPDX-License-Identifier: Apache-2.0
"""Addresses: an IP is a bigint, an IPV6 and an INET are 16 bytes (IPv4 as ::ffff:a.b.c.d)."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import Column
from pyspark.sql import functions as F

from gigastream.gsql.types import Type
from spark_sink.address_text import address_text
from spark_sink.expressions.values import literal
from spark_sink.expressions.whole_numbers import number

MAPPED = bytes(10) + b"\xff\xff"
"""What stands before the four bytes of an IPv4 address in an INET."""
_BITS = 128
_HEX = "0123456789ABCDEF"


def mapped(ip: Column) -> Column:
    """An IP as an INET."""
    digits = F.lpad(F.hex(ip), 8, "0")
    return F.concat(literal(MAPPED, Type.STRING), F.unhex(digits))


def is_mapped(inet: Column) -> Column:
    """Whether it is an IPv4 address."""
    return F.startswith(inet, literal(MAPPED, Type.STRING))


def unmapped(inet: Column) -> Column:
    """The IP in an INET; NULL where there is none."""
    number_ = F.conv(F.hex(F.substring(inet, 13, 4)), 16, 10).try_cast("bigint")
    return F.when(is_mapped(inet), number_)


def text_of(type_: Type) -> Callable[[Column], Column]:
    """As outputs print it, in bytes."""
    return lambda address: address_text(address, type_).cast("binary")


def prefix_of_ip(ip: Column, length: int) -> Column:
    """The first bits of an IP, the others 0."""
    rest = (1 << (32 - min(length, 32))) - 1
    return ip.bitwiseAND(number(0xFFFFFFFF ^ rest))


def prefix_of_ipv6(address: Column, length: int) -> Column:
    """The first bits of 16 bytes, the others 0."""
    if length >= _BITS:
        return address
    whole, bits = divmod(length, 8)
    parts = [F.substring(address, 1, whole)]
    if bits:
        parts.append(_masked_byte(F.substring(address, whole + 1, 1), bits))
    zeros = bytes(_BITS // 8 - whole - (1 if bits else 0))
    return F.concat(*parts, literal(zeros, Type.STRING))


def prefix_of_inet(address: Column, length: int) -> Column:
    """The first bits: of an IPv4 address, of its 32."""
    of_ip = prefix_of_ipv6(address, _BITS if length > 32 else length + 96)
    return F.when(is_mapped(address), of_ip).otherwise(prefix_of_ipv6(address, length))


def _masked_byte(byte: Column, bits: int) -> Column:
    """Spark has no arithmetic on bytes: each half is a digit in hexadecimal."""
    digits = F.hex(byte)
    if bits <= 4:
        return F.unhex(F.concat(_masked_digit(F.substring(digits, 1, 1), bits), F.lit("0")))
    low = _masked_digit(F.substring(digits, 2, 1), bits - 4)
    return F.unhex(F.concat(F.substring(digits, 1, 1), low))


def _masked_digit(digit: Column, bits: int) -> Column:
    mask = 0xF & ~((1 << (4 - bits)) - 1)
    return F.translate(digit, _HEX, "".join(_HEX[value & mask] for value in range(16)))
