# SPDX-License-Identifier: Apache-2.0
"""What stands in a record as a value of a field's type; ValueError says why it is none."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from ipaddress import IPv4Address, IPv6Address
from math import isfinite
from socket import AF_INET, AF_INET6, inet_pton
from typing import Any

from gigastream.gsql.catalog.catalog import RecordField
from gigastream.gsql.types import Type
from gigastream.late_dataclass import dataclass
from gigastream.timestamps import whole_units

MAX_STRING_BYTES = (1 << 16) - 1
"""Of one text."""
UNIT_NS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
_SHOWN = 40
_WHOLE = re.compile(r"[+-]?[0-9]{1,20}")
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")
_TIME = re.compile(
    r"(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d)?)(?:[.,](\d{1,9}))?)? ?(Z|UTC|[+-]\d\d:?\d\d)?",
    re.ASCII | re.IGNORECASE,
)
_MAX_NUMBER_DIGITS = 64
_IPV4_BYTES = 4
_MAPPED = b"\0" * 10 + b"\xff\xff"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LEAST_NS, _MOST_NS = Type.TIMESTAMP.limits
_TRUTHS = {"true": 1, "t": 1, "1": 1, "yes": 1, "false": 0, "f": 0, "0": 0, "no": 0}

Convert = Callable[[Any], Any]


class Missing:
    """Stands where a record has no such field."""


MISSING = Missing()


@dataclass(frozen=True, slots=True)
class Instant:
    """A time that says itself what it is."""

    ns: int
    """Since the epoch."""


def converter(field: RecordField) -> Convert:
    """Return what makes a field's value of a text or of what JSON, Arrow or a caller has."""
    convert = _CONVERTERS[field.type](field)
    name = field.name

    def checked(value: Any) -> Any:
        if value is None:
            raise ValueError(f"{name} is NULL")
        if value is MISSING:
            raise ValueError(f"there is no column {name}")
        try:
            return convert(value)
        except ValueError as problem:
            raise ValueError(f"{name}: {problem}") from None

    return checked


def shown(value: object) -> str:
    """Return a value for a message: of bounded length, and of characters that do no harm."""
    try:
        text = ascii(value[:_SHOWN] if isinstance(value, str | bytes) else value)
    except RecursionError:  # JSON was read with a few levels of the stack more
        text = f"a {type(value).__name__} of too many levels"
    return text if len(text) <= _SHOWN + 4 else f"{text[:_SHOWN]}…"


def _is_none(value: object, what: object) -> ValueError:
    return ValueError(f"{shown(value)} is no {what}")


# Numbers


def _whole(field: RecordField) -> Convert:
    least, most = field.type.limits
    unit = UNIT_NS[field.unit]

    def convert(value: Any) -> int:
        number: int
        if isinstance(value, str):
            number = _whole_of_text(value.strip(), field)
        elif isinstance(value, Instant | datetime) and field.is_time:
            number = _instant_ns(value) // unit
        elif isinstance(value, int) and not isinstance(value, bool):
            number = value
        else:
            raise _is_none(value, field.type)
        if not least <= number <= most:
            raise ValueError(f"{shown(value)} is beyond what {field.type} holds")
        return number

    return convert


def _whole_of_text(text: str, field: RecordField) -> int:
    if _WHOLE.fullmatch(text):
        return int(text)
    if field.is_time and _TIME.fullmatch(text):
        return _time_of_text(text) // UNIT_NS[field.unit]
    raise _is_none(text, field.type)


def _float(field: RecordField) -> Convert:
    def convert(given: Any) -> float:
        value = given
        if isinstance(value, str) and _NUMBER.fullmatch(value.strip()):
            value = float(value)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise _is_none(value, field.type)
        try:
            number = float(value)
        except OverflowError:
            number = float("inf")
        if not isfinite(number):
            raise ValueError(f"{shown(given)} is not finite")
        return number

    return convert


def _bool(field: RecordField) -> Convert:
    def convert(value: Any) -> int:
        if isinstance(value, bool):
            return int(value)
        found = _TRUTHS.get(value.strip().lower()) if isinstance(value, str) else None
        if found is None:
            raise _is_none(value, "bool: true or false")
        return found

    return convert


# Texts and addresses


def _string(field: RecordField) -> Convert:
    def convert(value: Any) -> bytes:
        if isinstance(value, str):
            found = value.encode(errors="surrogateescape")
        elif isinstance(value, bytes | bytearray | memoryview):
            found = bytes(value)
        else:
            raise _is_none(value, field.type)
        if len(found) > MAX_STRING_BYTES:
            raise ValueError(f"{len(found):,} bytes are more than a string has")
        return found

    return convert


def _packed(value: Any) -> bytes:
    """The 4 or 16 bytes of an address."""
    if isinstance(value, str):
        text = value.strip()
        try:
            return inet_pton(AF_INET6 if ":" in text else AF_INET, text)
        except (OSError, ValueError):
            if "%" in text:
                raise ValueError(f"{shown(value)} has a zone, which only its host knows") from None
    elif isinstance(value, bytes) and len(value) in (4, 16):
        return value
    elif isinstance(value, IPv4Address | IPv6Address):
        return value.packed
    raise _is_none(value, "address")


def _ip(_: RecordField) -> Convert:
    def convert(value: Any) -> int:
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 32:
            return value
        found = _packed(value).removeprefix(_MAPPED)
        if len(found) != _IPV4_BYTES:
            raise _is_none(value, "address of IPv4")
        return int.from_bytes(found)

    return convert


def _ipv6(field: RecordField) -> Convert:
    is_either = field.type is Type.INET

    def convert(value: Any) -> bytes:
        found = _packed(value)
        if len(found) != _IPV4_BYTES:
            return found
        if not is_either:
            raise _is_none(value, "address of IPv6")
        return _MAPPED + found

    return convert


# Times


def _timestamp(field: RecordField) -> Convert:
    unit = UNIT_NS[field.unit]

    def convert(value: Any) -> int:
        found = _nanoseconds(value, unit)
        if not _LEAST_NS <= found <= _MOST_NS:
            raise ValueError(f"{shown(value)} is beyond what a timestamp holds")
        return found

    return convert


def _nanoseconds(value: Any, unit: int) -> int:
    if isinstance(value, str):
        text = value.strip()
        is_number = len(text) <= _MAX_NUMBER_DIGITS and _NUMBER.fullmatch(text)
        return _ticks(Decimal(text), unit) if is_number else _time_of_text(text)
    if isinstance(value, Instant | datetime):
        return _instant_ns(value)
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        raise _is_none(value, "timestamp")
    if isinstance(value, int):
        return value * unit
    return _ticks(Decimal(repr(value)) if isinstance(value, float) else value, unit)


def _ticks(number: Decimal, unit: int) -> int:
    """Whole nanoseconds of so many units: what is finer is cut (GSQL section 8)."""
    if not number.is_finite() or number.adjusted() > _MAX_NUMBER_DIGITS:
        raise ValueError(f"{shown(str(number))} is beyond what a timestamp holds")
    return whole_units(number, unit)


def _instant_ns(value: Instant | datetime) -> int:
    if isinstance(value, Instant):
        return value.ns
    since = (value if value.tzinfo else value.replace(tzinfo=UTC)) - _EPOCH
    return (since.days * 86_400 + since.seconds) * 10**9 + since.microseconds * 1000


def _time_of_text(text: str) -> int:
    """ISO 8601, to the nanosecond; without a zone UTC."""
    found = _TIME.fullmatch(text)
    if found is None:
        raise _is_none(text, "timestamp: 2026-01-31T12:00:00.5Z")
    day, clock, fraction, zone = found.groups()
    zone = "+00:00" if zone is None or zone.upper() in ("Z", "UTC") else zone
    try:
        whole = datetime.fromisoformat(f"{day}T{clock or '00:00'}{zone}")
    except ValueError:
        raise _is_none(text, "timestamp") from None
    return _instant_ns(whole) + int((fraction or "").ljust(9, "0"))


_CONVERTERS: dict[Type, Callable[[RecordField], Convert]] = {
    Type.BOOL: _bool,
    Type.USHORT: _whole,
    Type.UINT: _whole,
    Type.INT: _whole,
    Type.ULLONG: _whole,
    Type.LLONG: _whole,
    Type.FLOAT: _float,
    Type.STRING: _string,
    Type.IP: _ip,
    Type.IPV6: _ipv6,
    Type.INET: _ipv6,
    Type.TIMESTAMP: _timestamp,
}
