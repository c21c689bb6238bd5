# SPDX-License-Identifier: Apache-2.0
"""The values of elements, a column of a set at a time: what has no such value is None."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gigastream.records.flows.columns import BITS, COLUMNS, Values
from gigastream.records.flows.elements import ElementKind
from gigastream.records.flows.templates import Template

NS_PER_S = 10**9
_NS_PER_MS = 10**6
_NS_PER_US = 10**3
_NTP_SECONDS = 2_208_988_800
"""From 1900 to 1970."""
_MOST_NS = 2**63 - 1
_V4 = b"\0" * 10 + b"\xff\xff"


class Clock:
    """What the times of a datagram are relative to, in ns since 1970."""

    def __init__(self, export_ns: int, begun_ns: int | None) -> None:
        self.export_ns = export_ns
        self.begun_ns = begun_ns
        """When the exporter began, as far as it has said so."""


def columns_of(
    template: Template, records: Sequence[Sequence[Any]], clock: Clock
) -> dict[str, Values]:
    """The columns of a set's records. Where two elements are one, the last that is not 0 counts.

    Exporters of one template for both families leave one 0; others put an outer header first.
    """
    found: dict[str, Values] = {}
    for wanted, raw in zip(template.wanted, zip(*records, strict=True), strict=True):
        is_joined = wanted.is_bytes and wanted.kind is not ElementKind.ADDRESS
        numbers = list(map(_number, raw)) if is_joined else raw
        for name, values in _READ[wanted.kind](wanted.column, numbers, clock):
            found[name] = _last_of(found[name], values) if name in found else values
    return found


def _number(data: bytes) -> int:
    return int.from_bytes(data, "big")


def _last_of(first: Values, second: Values) -> Values:
    return [a if b in _NOTHING else b for a, b in zip(first, second, strict=True)]


_NOTHING = (None, 0, bytes(16), _V4 + bytes(4))

_Columns = list[tuple[str, Values]]


def _numbers(name: str, raw: Sequence[int], _clock: Clock) -> _Columns:
    """A number that its column cannot hold is none."""
    most = (1 << BITS.get(COLUMNS.get(name, ""), 64)) - 1
    if max(raw, default=0) <= most:
        return [(name, raw)]
    return [(name, [value if value <= most else None for value in raw])]


def _addresses(name: str, raw: Sequence[bytes], _clock: Clock) -> _Columns:
    return [(name, [address(value) for value in raw])]


def address(value: bytes) -> bytes | None:
    """16 bytes of an address: of IPv4 as ::ffff:a.b.c.d."""
    if len(value) == 4:
        return _V4 + value
    return value if len(value) == 16 else None


def _icmp(_name: str, raw: Sequence[int], _clock: Clock) -> _Columns:
    return [
        ("icmp_type", [value >> 8 & 0xFF for value in raw]),
        ("icmp_code", [value & 0xFF for value in raw]),
    ]


def _labels(name: str, raw: Sequence[int], _clock: Clock) -> _Columns:
    return [(name, [value >> 4 & 0xFFFFF for value in raw])]


def _time(ns: Callable[[int, Clock], int | None]) -> Callable[..., _Columns]:
    def read(name: str, raw: Sequence[int], clock: Clock) -> _Columns:
        return [(name, [_in_range(ns(value, clock)) for value in raw])]

    return read


def _in_range(ns: int | None) -> int | None:
    return ns if ns is not None and 0 <= ns <= _MOST_NS else None


def _uptime_ns(value: int, clock: Clock) -> int | None:
    return None if clock.begun_ns is None else clock.begun_ns + value * _NS_PER_MS


def _ntp_ns(value: int, _clock: Clock) -> int:
    seconds, fraction = value >> 32, value & 0xFFFFFFFF
    return (seconds - _NTP_SECONDS) * NS_PER_S + (fraction * NS_PER_S >> 32)


_READ: dict[ElementKind, Callable[..., _Columns]] = {
    ElementKind.NUMBER: _numbers,
    ElementKind.ADDRESS: _addresses,
    ElementKind.ICMP: _icmp,
    ElementKind.MPLS: _labels,
    ElementKind.UPTIME_MS: _time(_uptime_ns),
    ElementKind.SECONDS: _time(lambda value, _: value * NS_PER_S),
    ElementKind.MILLISECONDS: _time(lambda value, _: value * _NS_PER_MS),
    ElementKind.NTP: _time(_ntp_ns),
    ElementKind.BEFORE_EXPORT_US: _time(lambda value, clock: clock.export_ns - value * _NS_PER_US),
}
