# SPDX-License-Identifier: Apache-2.0
"""GSQL's types (§3): which values they hold, where two of them meet, what a value is in another.

Values are plain: int, float, bool and bytes; an IP is an int, a timestamp its nanoseconds. Where a
type cannot hold a value there is none: NoValueError, and the tuple is dropped.
"""

from __future__ import annotations

import math

Value = int | float | bool | bytes | None

BITS = {"ushort": 16, "uint": 32, "int": 32, "ullong": 64, "llong": 64}
UNSIGNED = frozenset({"ushort", "uint", "ullong"})
ADDRESSES = frozenset({"IP", "IPV6", "INET"})
MAPPED = bytes(10) + b"\xff\xff"
ALONE = ("int", "uint", "llong", "ullong")
"""What a whole number without a suffix is where it meets nothing: the first that holds it."""


class NoValueError(Exception):
    """An expression that has no value for a tuple."""


def limits(type_: str) -> tuple[int, int]:
    """The least and the greatest whole number of a type."""
    if type_ == "bool":
        return 0, 1
    if type_ == "IP":
        return 0, 2**32 - 1
    bits = BITS.get(type_, 64)
    if type_ in UNSIGNED:
        return 0, 2**bits - 1
    return -(2 ** (bits - 1)), 2 ** (bits - 1) - 1


def holds(type_: str, value: int) -> bool:
    """Whether a whole number is one of the type's."""
    low, high = limits(type_)
    return low <= value <= high


def holds_all(type_: str, other: str) -> bool:
    """Whether every value of another type is one of the type's, too."""
    if type_ in ("float", "INET") or type_ == other:
        return True
    return is_whole(type_) and is_whole(other) and all(holds(type_, v) for v in limits(other))


def fitted(type_: str, value: int) -> int:
    """The number, if the type holds it."""
    if not holds(type_, value):
        raise NoValueError
    return value


def is_whole(type_: str) -> bool:
    """Whether it is a type of whole numbers."""
    return type_ in BITS


def is_number(type_: str) -> bool:
    """Whether one can calculate with it, apart from timestamps."""
    return is_whole(type_) or type_ == "float"


def alone(*values: int) -> str:
    """The type of whole numbers that meet nothing else."""
    return next(type_ for type_ in ALONE if all(holds(type_, value) for value in values))


def meet(left: str, right: str) -> str:
    """The narrowest type that holds the values of two; llong for ullong and a signed one."""
    if left == right:
        return left
    if left in ADDRESSES and right in ADDRESSES:
        return "INET"
    if "float" in (left, right):
        return "float"
    wide, narrow = (left, right) if BITS[left] >= BITS[right] else (right, left)
    if (wide in UNSIGNED) == (narrow in UNSIGNED):
        return wide
    if BITS[wide] > BITS[narrow] and narrow in UNSIGNED:
        return wide
    return "llong"


def convert(value: Value, from_: str, to: str) -> Value:
    """A value of one type in another; NULL stays NULL."""
    if value is None or from_ == to:
        return value
    if to in ADDRESSES:
        return _address(value, from_, to)
    if to == "float":
        return float(value)
    if from_ == "float":
        return _cut(float(value), to)
    return fitted(to, int(value)) if to in BITS or to == "timestamp" else value


def _cut(value: float, to: str) -> int:
    if not math.isfinite(value):
        raise NoValueError
    return fitted(to, math.trunc(value))


def _address(value: Value, from_: str, to: str) -> Value:
    if from_ in BITS:
        assert isinstance(value, int)
        return fitted("IP", value)
    if from_ == "IP":
        assert isinstance(value, int)
        return MAPPED + value.to_bytes(4, "big")
    assert isinstance(value, bytes)
    if from_ == "INET" and to == "IP":
        if not value.startswith(MAPPED):
            raise NoValueError
        return int.from_bytes(value[12:], "big")
    if from_ == "INET" and value.startswith(MAPPED):
        raise NoValueError
    return value


def zero(type_: str) -> Value:
    """What the original's outer join has for an absent value."""
    if type_ == "string":
        return b""
    if type_ in ("IPV6", "INET"):
        return bytes(16)
    return {"float": 0.0, "bool": False}.get(type_, 0)
