# SPDX-License-Identifier: Apache-2.0
"""Addresses as text, as the engine prints them, by Spark's own expressions.

Every step names what it works on once: a step that names it twice doubles all those below it, and
Java refuses to compile the megabyte that became of a few.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from pyspark.sql import Column
from pyspark.sql import functions as F

from spark_sink.expressions.addresses import is_mapped
from spark_sink.expressions.binding import computed

_SHIFTS = (24, 16, 8, 0)
_OCTETS = range(13, 17)
"""Where an INET holds an IPv4 address (RFC 4291, section 2.5.5.2), counted from 1."""
_GROUP = "000(.)|00(..)|0(...)|(....)"
"""Four digits; in one of the groups what is left without leading zeros."""
_RUN = r"^(.*?)((?::0){2,}+):(?!.*\2:0)"
"""The first run of two or more zero groups behind which none is longer."""
_CUT = "zz"
"""Stands for what was cut, while colons are taken off the ends."""


def ip_text(address: Column) -> Column:
    """Return an IPv4 address, a bigint, as text."""
    return computed(_ip_text, [address])


def inet_text(address: Column) -> Column:
    """Return sixteen bytes as the text of an address of either family."""
    return computed(lambda x: _either(x[0], _held_ip_text(x[0])), [address])


def ipv6_text(address: Column) -> Column:
    """Return an IPv6 address as text: RFC 5952, one that holds an IPv4 address by its section 5."""
    held = F.lit("::ffff:")
    return computed(lambda x: _either(x[0], F.concat(held, _held_ip_text(x[0]))), [address])


def _ip_text(operands: Sequence[Column]) -> Column:
    parts = [F.shiftright(operands[0], shift).bitwiseAND(F.lit(255)) for shift in _SHIFTS]
    return _dotted(parts)


def _either(address: Column, held: Column) -> Column:
    return F.when(is_mapped(address), held).otherwise(_shortened(_groups(address)))


def _held_ip_text(address: Column) -> Column:
    """Each byte is a character of ISO 8859-1: to Spark no byte is a number."""
    bytes_ = (F.substring(address, place, 1) for place in _OCTETS)
    return _dotted([F.ascii(F.decode(byte, "ISO-8859-1")) for byte in bytes_])


def _dotted(parts: Sequence[Column]) -> Column:
    """Unlike concat_ws, NULL where a part is."""
    texts = [part.cast("string") for part in parts]
    return reduce(lambda left, right: F.concat(left, F.lit("."), right), texts)


def _groups(address: Column) -> Column:
    """Of 16 bytes the eight groups without leading zeros, a colon on both sides of each."""
    digits = F.lower(F.hex(address))
    return F.concat(F.lit(":"), F.regexp_replace(digits, _GROUP, "$1$2$3$4:"))


def _shortened(groups: Column) -> Column:
    cut = F.regexp_replace(groups, _RUN, f"$1{_CUT}")
    return F.replace(F.btrim(cut, F.lit(":")), F.lit(_CUT), F.lit("::"))
