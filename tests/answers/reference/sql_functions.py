# SPDX-License-Identifier: Apache-2.0
"""SQL's functions under DuckDB's names, said again in Python: strings, bytes, times, addresses."""

from __future__ import annotations

import base64
import binascii
import ipaddress
import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.answers.reference.arithmetic import binary
from tests.answers.reference.typed import VARYING, Typed, cast, constant, settled
from tests.answers.reference.types import MAPPED, NoValueError, Value, fitted

LONGEST = 65536
SECOND, DAY = 10**9, 86_400 * 10**9


def _row(type_: str, compute: Callable[..., Any], *arguments: Typed) -> Typed:
    """NULL where an argument is; a string that is too long is no value."""

    def read(row: object) -> Value:
        values = [argument.read(row) for argument in arguments]
        if any(value is None for value in values):
            return None
        result: Value = compute(*values)
        if isinstance(result, bytes) and len(result) > LONGEST:
            raise NoValueError
        return result

    return Typed(type_, read, VARYING)


def _of_strings(compute: Callable[..., Any], type_: str = "string") -> Callable[..., Typed]:
    """Of strings, and of numbers as llong."""

    def build(*arguments: Typed) -> Typed:
        return _row(
            type_, compute, *(a if a.type == "string" else cast(a, "llong") for a in arguments)
        )

    return build


# Strings


def _offset(x: bytes, place: int) -> int:
    return len(x) + place if place < 0 else place - 1


def _slice(x: bytes, start: int, stop: int) -> bytes:
    return x[max(start, 0) : max(stop, 0)]


def _substring(x: bytes, place: int, count: int | None = None) -> bytes:
    start = _offset(x, place)
    stop = len(x) if count is None else start + count
    return _slice(x, *sorted((start, stop))) if count is not None else _slice(x, start, stop)


def _left(x: bytes, n: int) -> bytes:
    return _slice(x, 0, len(x) + n if n < 0 else n)


def _right(x: bytes, n: int) -> bytes:
    return _slice(x, -n if n < 0 else len(x) - n, len(x))


def _split_part(x: bytes, separator: bytes, n: int) -> bytes:
    parts = x.split(separator) if separator else [x]
    index = n - 1 if n > 0 else len(parts) + n
    return parts[index] if n and 0 <= index < len(parts) else b""


def _repeat(x: bytes, n: int) -> bytes:
    if len(x) * n > LONGEST:
        raise NoValueError
    return x * n


def _pad(x: bytes, n: int, fill: bytes) -> bytes:
    """What stands before or behind x."""
    if n > LONGEST and fill:
        raise NoValueError
    return (fill * max(n - len(x), 0))[: max(n - len(x), 0)]


def _lpad(x: bytes, n: int, fill: bytes) -> bytes:
    return _pad(x, n, fill) + x[: max(n, 0)]


def _rpad(x: bytes, n: int, fill: bytes) -> bytes:
    return x[: max(n, 0)] + _pad(x, n, fill)


def _byte(x: bytes, n: int) -> int:
    if not 0 <= n < len(x):
        raise NoValueError
    return x[n]


def _unhex(x: bytes) -> bytes:
    if not re.fullmatch(rb"[0-9A-Fa-f]*", x):
        raise NoValueError
    return bytes.fromhex((b"0" * (len(x) % 2) + x).decode())


def _from_base64(x: bytes) -> bytes:
    try:
        return base64.b64decode(x, validate=True)
    except binascii.Error:
        raise NoValueError from None


def _hex(operand: Typed) -> Typed:
    if operand.type == "string":
        return _row("string", lambda value: value.hex().upper().encode(), operand)
    return _row("string", lambda value: b"%X" % value, cast(operand, "ullong"))


def concat(arguments: Sequence[Typed]) -> Typed:
    """NULL adds nothing."""

    def read(row: object) -> Value:
        values = [argument.read(row) for argument in arguments]
        result = b"".join(value for value in values if isinstance(value, bytes))
        if len(result) > LONGEST:
            raise NoValueError
        return result

    return Typed("string", read, VARYING)


# Patterns


def like(operand: Typed, pattern: Typed, escape: Typed | None, flags: int) -> Typed:
    """LIKE, ILIKE: the whole string; `%` any bytes, `_` one."""
    assert isinstance(pattern.constant, bytes)
    sign = b"" if escape is None else escape.constant
    text, at, parts = pattern.constant, 0, []
    while at < len(text):
        byte = text[at : at + 1]
        if byte == sign:
            at += 1
            byte = re.escape(text[at : at + 1])
        else:
            byte = {b"%": b".*", b"_": b"."}.get(byte, re.escape(byte))
        parts.append(byte)
        at += 1
    program = re.compile(b"".join(parts), re.DOTALL | flags)
    return _row("bool", lambda value: program.fullmatch(value) is not None, operand)


def found(operand: Typed, pattern: Typed) -> Typed:
    """`~`: a regular expression, anywhere."""
    assert isinstance(pattern.constant, bytes)
    text = re.sub(rb"\$$", rb"\\Z", pattern.constant)
    program = re.compile(text, re.DOTALL)
    return _row("bool", lambda value: program.search(value) is not None, operand)


# Times


def _time(operand: Typed) -> Typed:
    """A timestamp, or seconds since the epoch as one."""
    if operand.type == "timestamp":
        return operand
    return _row("timestamp", lambda value: value * SECOND, cast(operand, "uint"))


def _instant(ns: int) -> datetime:
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=ns // SECOND)


def _part(compute: Callable[[datetime], int]) -> Callable[[Typed], Typed]:
    return lambda operand: _row("uint", lambda ns: compute(_instant(ns)), _time(operand))


def _of_minute(unit: int, type_: str = "uint") -> Callable[[Typed], Typed]:
    return lambda operand: _row(type_, lambda ns: ns % (60 * SECOND) // unit, operand)


PARTS: dict[str, Callable[[Typed], Typed]] = {
    "year": _part(lambda t: t.year),
    "quarter": _part(lambda t: (t.month + 2) // 3),
    "month": _part(lambda t: t.month),
    "week": _part(lambda t: t.isocalendar().week),
    "day": _part(lambda t: t.day),
    "dayofyear": _part(lambda t: t.timetuple().tm_yday),
    "dayofweek": _part(lambda t: t.isoweekday() % 7),
    "isodow": _part(lambda t: t.isoweekday()),
    "hour": _part(lambda t: t.hour),
    "minute": _part(lambda t: t.minute),
    "second": _part(lambda t: t.second),
    "millisecond": _of_minute(10**6),
    "microsecond": _of_minute(10**3),
    "nanosecond": _of_minute(1, "ullong"),
}
WIDTHS = {"microsecond": 10**3, "millisecond": 10**6, "second": SECOND, "minute": 60 * SECOND}
WIDTHS |= {"hour": 3600 * SECOND, "day": DAY}


def _extract(part: Typed, operand: Typed) -> Typed:
    assert isinstance(part.constant, bytes)
    name = part.constant.decode()
    return EPOCHS[name](operand) if name in EPOCHS else PARTS[name](operand)


def _ns(value: int) -> Typed:
    return constant("llong", value)


def _cut(time: Typed, width: int) -> Typed:
    return cast(binary("*", binary("/", time, _ns(width)), _ns(width)), "timestamp")


def _date_trunc(unit: Typed, time: Typed) -> Typed:
    assert isinstance(unit.constant, bytes)
    name = unit.constant.decode()
    if name in WIDTHS:
        return _cut(time, WIDTHS[name])
    if name == "week":
        return binary("-", _cut(binary("+", time, _ns(3 * DAY)), 7 * DAY), _ns(3 * DAY))
    months = {"month": 1, "quarter": 3, "year": 12}[name]

    def start(ns: int) -> int:
        instant = _instant(ns)
        month = instant.month - (instant.month - 1) % months
        seconds = int(datetime(instant.year, month, 1, tzinfo=UTC).timestamp())
        return fitted("timestamp", seconds * SECOND)

    return _row("timestamp", start, time)


EPOCHS: dict[str, Callable[[Typed], Typed]] = {
    "epoch": lambda time: binary("/", cast(cast(time, "llong"), "float"), _ns(SECOND)),
    "epoch_ms": lambda time: binary("/", cast(time, "llong"), _ns(10**6)),
    "epoch_us": lambda time: binary("/", cast(time, "llong"), _ns(10**3)),
    "epoch_ns": lambda time: cast(time, "llong"),
}


def _to_timestamp(seconds: Typed) -> Typed:
    return cast(binary("*", settled(seconds), _ns(SECOND)), "timestamp")


def _strftime(time: Typed, text: Typed) -> Typed:
    """Python's own, for the signs that it has under the same letters."""
    assert isinstance(text.constant, bytes)
    form = text.constant.decode()
    return _row("string", lambda ns: _instant(ns).strftime(form).encode(), _time(time))


# Addresses


def _address(value: int | bytes) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    if isinstance(value, int):
        return ipaddress.IPv4Address(value)
    if value.startswith(MAPPED):
        return ipaddress.IPv4Address(value[12:])
    return ipaddress.IPv6Address(value)


def _within(*networks: str) -> Callable[[Typed], Typed]:
    parsed = [ipaddress.ip_network(network) for network in networks]
    return lambda operand: _row(
        "bool", lambda value: any(_address(value) in network for network in parsed), operand
    )


def text(operand: Typed) -> Typed:
    """As outputs print it: an INET that holds an IPv4 address as that."""
    type_ = settled(operand).type

    def printed(value: Any) -> bytes:
        if type_ not in ("IP", "IPV6", "INET"):
            return b"%d" % value
        prefix = "::ffff:" if type_ == "IPV6" and value.startswith(MAPPED) else ""
        return f"{prefix}{_address(value)}".encode()

    return _row("string", printed, operand)


BUILDERS: dict[str, Callable[..., Typed]] = {
    "length": _of_strings(len, "uint"),
    "strpos": _of_strings(lambda x, part: x.find(part) + 1, "uint"),
    "contains": _of_strings(lambda x, part: part in x, "bool"),
    "starts_with": _of_strings(bytes.startswith, "bool"),
    "ends_with": _of_strings(bytes.endswith, "bool"),
    "substring": _of_strings(_substring),
    "left": _of_strings(_left),
    "right": _of_strings(_right),
    "split_part": _of_strings(_split_part),
    "trim": _of_strings(lambda x, which=b" ": x.strip(which) if which else x),
    "ltrim": _of_strings(lambda x, which=b" ": x.lstrip(which) if which else x),
    "rtrim": _of_strings(lambda x, which=b" ": x.rstrip(which) if which else x),
    "replace": _of_strings(lambda x, old, new: x.replace(old, new) if old else x),
    "reverse": _of_strings(lambda x: x[::-1]),
    "repeat": _of_strings(_repeat),
    "lpad": _of_strings(_lpad),
    "rpad": _of_strings(_rpad),
    "get_byte": _of_strings(_byte, "uint"),
    "get_bit": _of_strings(lambda x, n: _byte(x, n // 8) >> n % 8 & 1, "uint"),
    "hex": _hex,
    "unhex": _of_strings(_unhex),
    "to_base64": _of_strings(base64.b64encode),
    "from_base64": _of_strings(_from_base64),
    "printable": _of_strings(lambda x: re.sub(rb"[^ -~]", b".", x)),
    "text": text,
    "is_private": _within("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7"),
    "is_multicast": _within("224.0.0.0/4", "ff00::/8"),
    "is_loopback": _within("127.0.0.0/8", "::1/128"),
    "is_link_local": _within("169.254.0.0/16", "fe80::/10"),
    "family": lambda operand: _row("uint", lambda value: _address(value).version, operand),
    **PARTS,
    **EPOCHS,
    "extract": _extract,
    "date_part": _extract,
    "date_trunc": _date_trunc,
    "to_timestamp": _to_timestamp,
    "strftime": _strftime,
}
