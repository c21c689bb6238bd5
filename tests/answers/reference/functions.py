# SPDX-License-Identifier: Apache-2.0
"""Functions and predicates of GSQL §4, as far as answers are tested with them."""

from __future__ import annotations

import ipaddress
import math
import re
from collections.abc import Callable, Sequence
from typing import Any

from tests.answers.reference.arithmetic import binary, met_type
from tests.answers.reference.lookups import LOOKUPS
from tests.answers.reference.sql_functions import BUILDERS, concat, found, like
from tests.answers.reference.typed import (
    CONSTANT,
    VARYING,
    Typed,
    cast,
    counted,
    settled,
    without_order,
)
from tests.answers.reference.types import MAPPED, NoValueError, Value, fitted, is_whole, meet

CASTS = {"int", "uint", "llong", "ullong", "float"}
UNITS_NS = {"ms": 10**6, "s": 10**9, "sec": 10**9, "min": 60 * 10**9, "hour": 3600 * 10**9}
UNITS_NS["day"] = 24 * UNITS_NS["hour"]


def function(name: str, arguments: Sequence[Typed]) -> Typed:
    """A call. KeyError for a function that is not known here."""
    if name in CASTS:
        return cast(arguments[0], name)
    if name == "if":
        condition, then, otherwise = arguments
        return choice([(condition, then)], otherwise)
    if name == "non_temporal":
        return without_order(arguments[0])
    if name in _OF_MANY:
        return _OF_MANY[name](arguments)
    if name in ("like", "ilike"):
        escape = arguments[2] if len(arguments) > 2 else None
        return like(arguments[0], arguments[1], escape, re.IGNORECASE if name == "ilike" else 0)
    builder = _BUILDERS.get(name) or BUILDERS[name]
    return builder(*arguments)


# Values that are chosen


def choice(branches: Sequence[tuple[Typed, Typed]], otherwise: Typed) -> Typed:
    """CASE: only what is needed is computed; a condition that is NULL is not true."""
    type_ = _unified([value for _, value in branches] + [otherwise])
    values = [(condition, cast(value, type_)) for condition, value in branches]
    last = cast(otherwise, type_)

    def read(row: object) -> Value:
        for condition, value in values:
            if condition.read(row) is True:
                return value.read(row)
        return last.read(row)

    return Typed(type_, read)


def _together(values: Sequence[Typed]) -> list[Typed]:
    type_ = _unified(values)
    return [cast(value, type_) for value in values]


def _coalesce(arguments: Sequence[Typed]) -> Typed:
    """The first that is not NULL; those behind it are not computed."""
    values = _together(arguments)

    def read(row: object) -> Value:
        return next((v for v in (value.read(row) for value in values) if v is not None), None)

    return Typed(values[0].type, read)


def _nullif(arguments: Sequence[Typed]) -> Typed:
    left, right = _together(arguments)

    def read(row: object) -> Value:
        value, other = left.read(row), right.read(row)
        return None if value == other else value

    return Typed(left.type, read)


def _outermost(choose: Callable[..., Any]) -> Callable[[Sequence[Typed]], Typed]:
    """GREATEST, LEAST: of those that are not NULL."""

    def build(arguments: Sequence[Typed]) -> Typed:
        values = _together(arguments)

        def read(row: object) -> Value:
            found = [value.read(row) for value in values]
            return choose((value for value in found if value is not None), default=None)

        return Typed(values[0].type, read)

    return build


def _unified(values: Sequence[Typed]) -> str:
    """The common type; NULL has none, and loose numbers take that of the others."""
    typed = [value for value in values if value.type != "null"]
    met, *others = sorted(typed, key=lambda value: value.is_loose)
    for value in others:
        if not (met.is_loose and value.is_loose):
            met = cast(met, met_type(met, value) if met.type != value.type else met.type)
    if met.is_loose:
        return _widest([settled(value).type for value in typed])
    return met.type


def _widest(types: Sequence[str]) -> str:
    found = types[0]
    for type_ in types[1:]:
        found = meet(found, type_)
    return found


# Functions of one row


def _strict(
    type_: str, compute: Callable[..., Any], *arguments: Typed, order: str = VARYING
) -> Typed:
    """NULL where an argument is."""

    def read(row: object) -> Value:
        values = [argument.read(row) for argument in arguments]
        if any(value is None for value in values):
            return None
        result: Value = compute(*values)
        return result

    return Typed(type_, read, order)


def _floating(compute: Callable[..., float]) -> Callable[..., Typed]:
    """A function of floats; what is not finite is no value."""

    def checked(*values: float) -> float:
        try:
            result = float(compute(*values))
        except (ValueError, OverflowError, ZeroDivisionError):
            raise NoValueError from None
        if not math.isfinite(result):
            raise NoValueError
        return result

    return lambda *arguments: _strict(
        "float", checked, *(cast(argument, "float") for argument in arguments)
    )


def _round(value: float) -> float:
    """Halves away from 0."""
    return math.copysign(math.floor(abs(value) + 0.5), value)


def _extreme(choose: Callable[[Any, Any], Any]) -> Callable[[Typed, Typed], Typed]:
    def build(left: Typed, right: Typed) -> Typed:
        if left.is_loose and right.is_loose:
            left, right = settled(left), settled(right)
        if left.type != right.type:
            left, right = counted(left), counted(right)
        type_ = left.type if left.type == right.type else met_type(left, right)
        type_ = "uint" if type_ == "ushort" else type_
        orders = {left.order, right.order} - {CONSTANT}
        order = orders.pop() if len(orders) == 1 else VARYING
        order = order if is_whole(type_) or type_ == "timestamp" else VARYING
        return _strict(type_, choose, cast(left, type_), cast(right, type_), order=order)

    return build


def _absolute(operand: Typed) -> Typed:
    firm = settled(operand)
    type_ = {"ushort": "uint", "int": "llong"}.get(firm.type, firm.type)
    if type_ == "float":
        return _strict(type_, abs, firm)
    return _strict(type_, lambda value: fitted(type_, abs(value)), cast(firm, type_))


def _pack(high: Typed, low: Typed) -> Typed:
    return _strict("ullong", lambda x, y: x << 32 | y, cast(high, "uint"), cast(low, "uint"))


def _prefix(address: Typed, bits: Typed) -> Typed:
    count = int(bits.constant or 0)

    def kept(value: int | bytes) -> int | bytes:
        if isinstance(value, int):
            return _masked(value, count, 32)
        if address.type == "INET" and value.startswith(MAPPED):
            last = _masked(int.from_bytes(value[12:], "big"), count, 32)
            return MAPPED + last.to_bytes(4, "big")
        return _masked(int.from_bytes(value, "big"), count, 128).to_bytes(16, "big")

    return _strict(address.type, kept, address)


def _masked(value: int, bits: int, width: int) -> int:
    rest = max(0, width - bits)
    return value >> rest << rest


def _time_bucket(width: Typed, time: Typed) -> Typed:
    """`t / width * width`, increasing as t is."""
    assert isinstance(width.constant, bytes)
    found = re.fullmatch(r"\s*(\d+)\s*([a-z]+?)s?\s*", width.constant.decode())
    assert found is not None
    unit = found[2] if found[2] in UNITS_NS else found[2] + "s"
    length = Typed("number", lambda row: None, CONSTANT, int(found[1]) * UNITS_NS[unit])
    return cast(binary("*", binary("/", time, length), length), "timestamp")


# Strings


def _suffix(value: bytes, count: int) -> bytes:
    return value[-count:] if count else b""


def _list_entry(value: bytes, separator: bytes, at: int) -> bytes:
    parts = value.split(separator) if separator else []  # of nothing there are no entries
    return parts[at] if at < len(parts) else b""


def _to_hex(operand: Typed) -> Typed:
    if operand.type == "string":
        return _strict("string", lambda value: value.hex().encode(), operand)
    return _strict("string", lambda value: b"%x" % value, cast(operand, "ullong"))


def _strtoip(value: bytes) -> int:
    try:
        return int(ipaddress.IPv4Address(value.decode("latin-1")))
    except ValueError:
        raise NoValueError from None


def _extracted(operand: Typed, pattern: Typed) -> Typed:
    """The first match, where the leftmost one is the longest one too; else no value."""
    assert isinstance(pattern.constant, bytes)
    program = re.compile(re.sub(rb"\$$", rb"\\Z", pattern.constant), re.DOTALL)

    def part(value: bytes) -> bytes:
        match = program.search(value)
        if match is None:
            raise NoValueError
        return match[0]

    return _strict("string", part, operand)


def _has_byte(place: int, byte: int, value: bytes) -> bool:
    return place < len(value) and value[place] == byte


def _string(compute: Callable[..., Any], type_: str = "string") -> Callable[..., Typed]:
    return lambda *arguments: _strict(type_, compute, *map(_unsigned, arguments))


def _unsigned(argument: Typed) -> Typed:
    return argument if argument.type == "string" else cast(argument, "uint")


_OF_MANY: dict[str, Callable[[Sequence[Typed]], Typed]] = {
    "coalesce": _coalesce,
    "ifnull": _coalesce,
    "nullif": _nullif,
    "greatest": _outermost(max),
    "least": _outermost(min),
    "concat": concat,
}

_BUILDERS: dict[str, Callable[..., Typed]] = {
    **LOOKUPS,
    "sqrt": _floating(math.sqrt),
    "pow": _floating(math.pow),
    "exp": _floating(math.exp),
    "log": _floating(math.log),
    "log2": _floating(math.log2),
    "log10": _floating(math.log10),
    "fmod": _floating(math.fmod),
    "ceil": _floating(math.ceil),
    "floor": _floating(math.floor),
    "trunc": _floating(math.trunc),
    "round": _floating(_round),
    "umin": _extreme(min),
    "umax": _extreme(max),
    "abs": _absolute,
    "pack": _pack,
    "prefix": _prefix,
    "time_bucket": _time_bucket,
    "~": found,
    "str_regex_match": found,
    "regexp_matches": found,
    "str_extract_regex": _extracted,
    "str_length": _string(len, "uint"),
    "str_truncate": _string(lambda value, count: value[:count]),
    "str_suffix": _string(_suffix),
    "get_list_entry": _string(_list_entry),
    "lower": _string(bytes.lower),
    "upper": _string(bytes.upper),
    "to_hex_string": _to_hex,
    "strtoip": _string(_strtoip, "IP"),
    "str_exists_substr": _string(lambda value, part: part in value, "bool"),
    "str_match_offset": _string(
        lambda place, part, value: place <= len(value) and value[place:].startswith(part), "bool"
    ),
    "byte_match_offset": _string(_has_byte, "bool"),
    "str_match_start": _string(lambda value, part: value.startswith(part), "bool"),
}
